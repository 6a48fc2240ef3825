#ifndef PL_COSINE_SIMILARITY_F32_H
#define PL_COSINE_SIMILARITY_F32_H

#include "sqrt_f32.h"
#include "sum_f32.h"

/* x (outer, n, inner) and z (times, n, inner), which repeats -> y (outer, inner): the products of lanes, each divided
 * by its length or by eps. A lane is read before its result is written. */
static inline void pl_cosine_similarity_f32(const float *x_start, const float *z, float *y_start, int32_t outer,
                                            int32_t times, int32_t n, int32_t inner, float eps)
{
    const float *x = x_start;
    float *y = y_start;
    for (int32_t o = 0; o < outer; o++) {
        const float *other = z + (o % times * n * inner);
        for (int32_t i = 0; i < inner; i++) {
            const float a = pl_sqrt_f32(pl_sum_squares_f32(x + i, n, inner, 0.0f));
            const float b = pl_sqrt_f32(pl_sum_squares_f32(other + i, n, inner, 0.0f));
            const float over_a = 1.0f / ((a < eps) ? eps : a);
            const float over_b = 1.0f / ((b < eps) ? eps : b);
            float sum = 0.0f;
            for (int32_t k = 0; k < n; k++) {
                sum += x[(k * inner) + i] * over_a * (other[(k * inner) + i] * over_b);
            }
            *y = sum;
            y++;
        }
        x = &x[n * inner];
    }
}

#endif
