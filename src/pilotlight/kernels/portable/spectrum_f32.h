#ifndef PL_SPECTRUM_F32_H
#define PL_SPECTRUM_F32_H

#include "bits_f32.h"
#include "integer.h"
#include "log_f32.h"

/* What features make of the spectrum of one frame, complex numbers x (bins, 2). */

/* y (bins), which may be where x is. */
static inline void pl_spectrum_energy_f32(int32_t bins, const float *x, float *y)
{
    for (int32_t k = 0; k < bins; k++) {
        const float re = x[2 * k];
        const float im = x[(2 * k) + 1];
        y[k] = (re * re) + (im * im);
    }
}

/* Weighted sums of x (bins): of filter i those of `count` bins from `first` on. Outside, its weights are 0. A product of
 * 0 and infinity or NaN is NaN: such a bin makes the sums of other filters NaN. */
static inline void pl_spectrum_bands_f32(int32_t filters, int32_t bins, const float *x,
                                         const int16_t *bands, // (filters, 2): first, count
                                         const float *weights, float *y)
{
    const float *w = weights;
    float nothing = 0.0f;
    for (int32_t k = 0; k < bins; k++) {
        nothing += 0.0f * x[k];
    }
    for (int32_t i = 0; i < filters; i++) {
        const int32_t first = bands[2 * i];
        const int32_t count = bands[(2 * i) + 1];
        float sum = 0.0f;
        for (int32_t k = 0; k < count; k++) {
            sum += w[k] * x[first + k];
        }
        if (nothing != nothing) {
            for (int32_t k = 0; k < bins; k++) {
                sum += ((k < first) || (k >= (first + count))) ? (0.0f * x[k]) : 0.0f;
            }
        }
        y[i] = sum;
        w = &w[count];
    }
}

static inline void pl_spectrum_log_f32(int32_t count, float offset, float *y)
{
    for (int32_t k = 0; k < count; k++) {
        y[k] = pl_log_f32(y[k] + offset);
    }
}

#endif
