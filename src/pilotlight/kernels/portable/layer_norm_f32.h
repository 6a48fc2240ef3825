#ifndef PL_LAYER_NORM_F32_H
#define PL_LAYER_NORM_F32_H

#include <stddef.h>

#include "sqrt_f32.h"
#include "sum_f32.h"

/* Every row of x (rows, n) to mean 0 and variance 1, then times w (n) plus b (n), each of which may be null.
 * Row by row; y may be x. */
static inline void pl_layer_norm_f32(const float *x_start, const float *w, const float *b, float *y_start, int32_t rows,
                                     int32_t n, float eps)
{
    const float *x = x_start;
    float *y = y_start;
    for (int32_t r = 0; r < rows; r++) {
        const float mean = pl_sum_f32(x, n, 1) / (float)n;
        const float variance = pl_sum_squares_f32(x, n, 1, mean) / (float)n;
        const float scale = 1.0f / pl_sqrt_f32(variance + eps);
        for (int32_t k = 0; k < n; k++) {
            float v = (x[k] - mean) * scale;
            v = (w != NULL) ? (v * w[k]) : v;
            y[k] = (b != NULL) ? (v + b[k]) : v;
        }
        x = &x[n];
        y = &y[n];
    }
}

#endif
