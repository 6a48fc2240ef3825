#ifndef PL_PEAK_F32_H
#define PL_PEAK_F32_H

#include "abs_f32.h"

/* Every row of x (rows, n) divided by its peak. Row by row; y may be x. */
static inline void pl_peak_f32(const float *x, float *y, int32_t rows, int32_t n)
{
    for (int32_t r = 0; r < rows; r++, x += n, y += n) {
        float peak = 1e-12f;
        for (int32_t k = 0; k < n; k++) {
            const float size = pl_abs_f32(x[k]);
            peak = size > peak || size != size ? size : peak;
        }
        for (int32_t k = 0; k < n; k++) {
            y[k] = x[k] / peak;
        }
    }
}

#endif
