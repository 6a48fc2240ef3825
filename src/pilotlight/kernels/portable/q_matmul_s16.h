#ifndef PL_Q_MATMUL_S16_H
#define PL_Q_MATMUL_S16_H

#include "q_clamp.h"
#include "requantize_s16.h"

/* Batched products of int16 matrices: a (m, k) times b (k, n), or b (n, k) where it is transposed. Distances in
 * elements from one matrix of the batch to the next; 0 uses one matrix for all. */
typedef struct {
    int32_t batch;
    int32_t m;
    int32_t k;
    int32_t n;
    int32_t a_step;
    int32_t b_step;
    int32_t transposed;
    pl_requantize_t out;
    int32_t factor; // the multiplier of the accumulators
    int32_t down;   // rounded right shift of an accumulator before it
} pl_q_matmul_s16_t;

/* The sum of k products, `along` elements from one of b to the next. */
PL_Q_APART int64_t pl_q_dot_s16(const int16_t *a_start, const int16_t *b_start, int32_t k, int32_t along)
{
    const int16_t *a = a_start;
    const int16_t *b = b_start;
    int64_t sum = 0;
    for (int32_t left = k; left > 0; left--) {
        sum += *a++ * *b;
        b = &b[along];
    }
    return sum;
}

/* y (batch, m, n) */
static inline void pl_q_matmul_s16(const pl_q_matmul_s16_t *s, const int16_t *a_start, const int16_t *b_start,
                                   int16_t *y_start)
{
    const int16_t *a = a_start;
    const int16_t *b = b_start;
    int16_t *y = y_start;
    const int32_t k = s->k;
    const int32_t n = s->n;
    const int32_t column = (s->transposed != 0) ? k : 1;
    const int32_t along = (s->transposed != 0) ? 1 : n;
    for (int32_t batch = 0; batch < s->batch; batch++) {
        for (int32_t i = 0; i < s->m; i++) {
            for (int32_t j = 0; j < n; j++) {
                const int64_t sum = pl_q_dot_s16(a + (i * k), b + (j * column), k, along);
                *y = pl_requantize_s16(&s->out, (s->down != 0) ? pl_q_down(sum, s->down) : (int32_t)sum, s->factor);
                y++;
            }
        }
        a = &a[s->a_step];
        b = &b[s->b_step];
    }
}

#endif
