#ifndef PL_Q_MATMUL_H
#define PL_Q_MATMUL_H

#include <stdbool.h>

#include "q_clamp.h"
#include "requantize.h"

/* Batched products of int8 matrices: a (m, k) times b (k, n), or b (n, k) where it is transposed. Distances in
 * elements from one matrix of the batch to the next; 0 uses one matrix for all. */
typedef struct {
    int32_t batch;
    int32_t m;
    int32_t k;
    int32_t n;
    int32_t a_step;
    int32_t b_step;
    int32_t transposed;
    int32_t za; // zero points
    int32_t zb;
    pl_requantize_t out;
    int32_t factor; // the multiplier of the accumulators
} pl_q_matmul_t;

/* -zb times the sum of a row's (a - za): what b's zero point adds to every product with that row. */
static inline int32_t pl_q_matmul_begin(const pl_q_matmul_t *s, const int8_t *a)
{
    int32_t sum = -s->k * s->za;
    for (int32_t i = 0; i < s->k; i++) {
        sum += a[i];
    }
    return -s->zb * sum;
}

/* A block of two rows by two columns: k products each, `row` from a row of a to the next, `column` and `along` from a
 * column of b and an element of it to the next. The sums begin with what they hold. */
typedef struct {
    int32_t k;
    int32_t za;
    int32_t row;
    int32_t column;
    int32_t along;
    int32_t c00;
    int32_t c01;
    int32_t c10;
    int32_t c11;
} pl_q_block_t;

PL_Q_APART void pl_q_matmul_2x2(pl_q_block_t *t, const int8_t *a_start, const int8_t *b_start)
{
    const int8_t *a = a_start;
    const int8_t *b = b_start;
    const int8_t *a1 = a + t->row;
    const int8_t *b1 = b + t->column;
    const int8_t *end = a + t->k;
    const int32_t along = t->along;
    const int32_t za = t->za;
    int32_t c00 = t->c00;
    int32_t c01 = t->c01;
    int32_t c10 = t->c10;
    int32_t c11 = t->c11;
    while (a != end) {
        const int32_t v0 = *a - za;
        const int32_t v1 = *a1 - za;
        const int32_t b0 = *b;
        const int32_t b2 = *b1;
        c00 += v0 * b0;
        c01 += v0 * b2;
        c10 += v1 * b0;
        c11 += v1 * b2;
        a++;
        a1++;
        b = &b[along];
        b1 = &b1[along];
    }
    t->c00 = c00;
    t->c01 = c01;
    t->c10 = c10;
    t->c11 = c11;
}

/* y (batch, m, n), in blocks of two rows by two columns; an odd last one repeats its first row or column. */
static inline void pl_q_matmul(const pl_q_matmul_t *s, const int8_t *a_start, const int8_t *b_start, int8_t *y_start)
{
    const int8_t *a = a_start;
    const int8_t *b = b_start;
    int8_t *y = y_start;
    const int32_t k = s->k;
    const int32_t n = s->n;
    const int32_t column = (s->transposed != 0) ? k : 1;
    pl_q_block_t t = {s->k, s->za, 0, 0, (s->transposed != 0) ? 1 : n, 0, 0, 0, 0};
    for (int32_t batch = 0; batch < s->batch; batch++) {
        for (int32_t i = 0; i < s->m; i += 2) {
            const int8_t *rows = a + (i * k);
            const int32_t down = ((i + 1) < s->m) ? n : 0;
            int32_t begin0;
            int32_t begin1;
            t.row = (down != 0) ? k : 0;
            begin0 = pl_q_matmul_begin(s, rows);
            begin1 = pl_q_matmul_begin(s, rows + t.row);
            for (int32_t j = 0; j < n; j += 2) {
                const int32_t right = ((j + 1) < n) ? 1 : 0;
                int8_t *out = y + ((i * n) + j);
                t.column = right * column;
                t.c00 = begin0;
                t.c01 = begin0;
                t.c10 = begin1;
                t.c11 = begin1;
                pl_q_matmul_2x2(&t, rows, b + (j * column));
                out[0] = pl_requantize_s8(&s->out, t.c00, s->factor);
                out[right] = pl_requantize_s8(&s->out, t.c01, s->factor);
                out[down] = pl_requantize_s8(&s->out, t.c10, s->factor);
                out[down + right] = pl_requantize_s8(&s->out, t.c11, s->factor);
            }
        }
        a = &a[s->a_step];
        b = &b[s->b_step];
        y = &y[s->m * n];
    }
}

#endif
