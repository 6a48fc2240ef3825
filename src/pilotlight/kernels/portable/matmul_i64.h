#ifndef PL_MATMUL_I64_H
#define PL_MATMUL_I64_H

#include "matmul.h"
#include "number_i64.h"

/* Products of integer matrices, element by element; sums wrap around. */
static inline void pl_matmul_i64(const pl_matmul_t *s, const int64_t *a, const int64_t *b, int64_t *y)
{
    for (int32_t at = 0; at < (s->outer * s->inner * s->m * s->n); at++) {
        const int32_t j = at % s->n;
        const int32_t i = at / s->n % s->m;
        const int32_t in = at / s->n / s->m % s->inner;
        const int32_t o = at / s->n / s->m / s->inner;
        const int64_t *row = a + ((o * s->a_outer) + (in * s->a_inner) + (i * s->a_row));    // (k)
        const int64_t *column = b + ((o * s->b_outer) + (in * s->b_inner) + (j * s->b_col)); // (k), b_row apart
        int64_t sum = 0;
        for (int32_t p = 0; p < s->k; p++) {
            sum = pl_add_i64(sum, pl_mul_i64(row[p], column[p * s->b_row]));
        }
        y[(o * s->y_outer) + (in * s->y_inner) + (i * s->y_row) + j] = sum;
    }
}

#endif
