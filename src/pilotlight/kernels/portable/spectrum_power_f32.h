#ifndef PL_SPECTRUM_POWER_F32_H
#define PL_SPECTRUM_POWER_F32_H

#include "hypot_f32.h"
#include "integer.h"
#include "pow_f32.h"

/* The magnitudes of complex numbers x (bins, 2) to a power; y (bins) may be where x is. */
static inline void pl_spectrum_power_f32(int32_t bins, float power, const float *x, float *y)
{
    for (int32_t k = 0; k < bins; k++) {
        const float magnitude = pl_hypot_f32(x[2 * k], x[(2 * k) + 1]);
        y[k] = (power == 1.0f) ? magnitude : pl_pow_f32(magnitude, power);
    }
}

#endif
