#ifndef PL_RFFT_FPU_F32_H
#define PL_RFFT_FPU_F32_H

#include "fft_f32.h"
#include "rfft_f32.h"

/* Rows of a power of two of neighbouring real points, in steps that are assembly on Cortex-M with single-precision
 * hardware, NAME_rfft_first4_f32 and so on. Elsewhere, and always with PILOTLIGHT_PORTABLE, they are the C of rfft_f32.h.
 * The first radix is 4 or 2, all others are 4. */
#if !defined(PILOTLIGHT_PORTABLE) && defined(__thumb2__) && defined(__ARM_FP) && (__ARM_FP & 4)
#define PL_FFT_F32_ASM 1
#else
#define PL_FFT_F32_ASM 0
#endif

/* The steps, written for each model: one row loaded and its first stage, a later stage, the bins. */
static inline void pl_rfft_first_f32(const pl_fft_t *t, const float *x, const float *window, float *y);
static inline void pl_fft_later_f32(float *y, const float *factors, int32_t points, int32_t span);
static inline void pl_rfft_bins_f32(const pl_fft_t *t, const float *turns, float *y);

/* The C of the first. */
static inline void pl_rfft_first_twin_f32(const pl_fft_t *t, const float *x, const float *window, float *y)
{
    pl_rfft_load(t, x, window, y);
    if (t->radix[0] == 4) {
        pl_fft_first4(y, t->points);
    } else {
        pl_fft_first2(y, t->points);
    }
}

static inline void pl_rfft_fpu_f32(const pl_fft_t *t, const float *x, const float *factors, const float *turns,
                                   const float *window, float *y_start)
{
    float *y = y_start;
    for (int32_t i = 0; i < t->batch; i++) {
        for (int32_t j = 0; j < t->frames; j++) {
            const float *w = factors;
            pl_rfft_first_f32(t, &x[(i * t->x_batch) + (j * t->x_frame)], window, y);
            for (int32_t span = t->radix[0]; span < t->points; span *= 4) {
                pl_fft_later_f32(y, w, t->points, span);
                w = &w[6 * span];
            }
            pl_rfft_bins_f32(t, turns, y);
            pl_rfft_mirror(t, y);
            y = &y[2 * t->bins];
        }
    }
}

#endif
