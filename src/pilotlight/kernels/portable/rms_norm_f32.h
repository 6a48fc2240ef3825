#ifndef PL_RMS_NORM_F32_H
#define PL_RMS_NORM_F32_H

#include <stddef.h>

#include "sqrt_f32.h"
#include "sum_f32.h"

/* Every row of x (rows, n) divided by the root of its mean square, then times w (n), which may be null.
 * Row by row; y may be x. */
static inline void pl_rms_norm_f32(const float *x_start, const float *w, float *y_start, int32_t rows, int32_t n,
                                   float eps)
{
    const float *x = x_start;
    float *y = y_start;
    for (int32_t r = 0; r < rows; r++) {
        const float scale = 1.0f / pl_sqrt_f32((pl_sum_squares_f32(x, n, 1, 0.0f) / (float)n) + eps);
        for (int32_t k = 0; k < n; k++) {
            y[k] = (w != NULL) ? (x[k] * scale * w[k]) : (x[k] * scale);
        }
        x = &x[n];
        y = &y[n];
    }
}

#endif
