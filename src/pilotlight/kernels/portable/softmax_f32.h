#ifndef PL_SOFTMAX_F32_H
#define PL_SOFTMAX_F32_H

#include "exp_f32.h"
#include "minmax_f32.h"

/* Writes e^(x - max) of one lane to y and returns their sum, in blocks of 32. */
static inline float pl_softmax_lane_f32(const float *x, float *y, int32_t n, int32_t stride)
{
    float top = x[0];
    float sum = 0.0f;
    float part = 0.0f;
    for (int32_t k = 1; k < n; k++) {
        top = pl_max_f32(x[k * stride], top);
    }
    for (int32_t k = 0; k < n; k++) {
        const float e = pl_exp_f32(x[k * stride] - top);
        y[k * stride] = e;
        part += e;
        if ((k & 31) == 31) {
            sum += part;
            part = 0.0f;
        }
    }
    return sum + part;
}

/* Softmax along the middle of (outer, axis, inner), lane by lane; y may be x. */
static inline void pl_softmax_f32(const float *x, float *y, int32_t outer, int32_t axis, int32_t inner)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            const int32_t at = (o * axis * inner) + i;
            const float scale = 1.0f / pl_softmax_lane_f32(x + at, y + at, axis, inner);
            for (int32_t k = 0; k < axis; k++) {
                y[at + (k * inner)] *= scale;
            }
        }
    }
}

#endif
