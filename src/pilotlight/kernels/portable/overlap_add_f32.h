#ifndef PL_OVERLAP_ADD_F32_H
#define PL_OVERLAP_ADD_F32_H

#include <stdint.h>

/* x (rows, frames, size) -> y (rows, length): frame f is added from sample f * step on. */
static inline void pl_overlap_add_f32(const float *x_start, float *y_start, int32_t rows, int32_t frames, int32_t size,
                                      int32_t step, int32_t length)
{
    const float *x = x_start;
    float *y = y_start;
    for (int32_t r = 0; r < rows; r++) {
        for (int32_t k = 0; k < length; k++) {
            y[k] = 0.0f;
        }
        for (int32_t f = 0; f < frames; f++) {
            float *sum = &y[f * step];
            for (int32_t k = 0; k < size; k++) {
                sum[k] += x[k];
            }
            x = &x[size];
        }
        y = &y[length];
    }
}

#endif
