#ifndef PL_Q_MATMUL_H
#define PL_Q_MATMUL_H

#include "q_clamp.h"

/* Batched products of int8 matrices: a (m, k) times b (k, n), or b (n, k) where it is transposed. Distances in
 * elements from one matrix of the batch to the next; 0 uses one matrix for all. */
typedef struct {
    int32_t batch, m, k, n;
    int32_t a_step, b_step;
    int32_t transposed;
    int32_t za, zb; // zero points
    pl_q_out_t out;
    int32_t factor; // the multiplier of the accumulators
} pl_q_matmul_t;

/* Two rows by two columns: row i of a is `rows` elements behind the first, column j of b `columns`, steps of p along
 * k. The second row or column may be the first again. */
static inline void pl_q_matmul_block(const pl_q_matmul_t *s, const int8_t *a, const int8_t *b, int8_t *y, int32_t rows,
                                     int32_t columns, int32_t p, int32_t down, int32_t right)
{
    int32_t c00 = 0, c01 = 0, c10 = 0, c11 = 0;
    for (int32_t i = s->k; i > 0; i--, a++, b += p) {
        const int32_t a0 = a[0] - s->za, a1 = a[rows] - s->za;
        const int32_t b0 = b[0] - s->zb, b1 = b[columns] - s->zb;
        c00 += a0 * b0;
        c01 += a0 * b1;
        c10 += a1 * b0;
        c11 += a1 * b1;
    }
    y[0] = pl_q_out(&s->out, c00, s->factor);
    y[right] = pl_q_out(&s->out, c01, s->factor);
    y[down] = pl_q_out(&s->out, c10, s->factor);
    y[down + right] = pl_q_out(&s->out, c11, s->factor);
}

/* y (batch, m, n), in blocks of two rows by two columns; an odd last one repeats its first row or column. */
static inline void pl_q_matmul(const pl_q_matmul_t *s, const int8_t *a, const int8_t *b, int8_t *y)
{
    const int32_t k = s->k, n = s->n;
    const int32_t p = s->transposed ? 1 : n, column = s->transposed ? k : 1;
    for (int32_t t = 0; t < s->batch; t++, a += s->a_step, b += s->b_step, y += s->m * n) {
        for (int32_t i = 0; i < s->m; i += 2) {
            const int32_t two = i + 1 < s->m;
            for (int32_t j = 0; j < n; j += 2) {
                const int32_t pair = j + 1 < n;
                pl_q_matmul_block(s, a + i * k, b + j * column, y + i * n + j, two ? k : 0, pair ? column : 0, p,
                                  two ? n : 0, pair);
            }
        }
    }
}

#endif
