#ifndef PL_IRFFT_ANY_F32_H
#define PL_IRFFT_ANY_F32_H

#include "fft_any_f32.h"
#include "irfft_f32.h"

/* An even number of real points whose half is not a power of two. */
static inline void pl_irfft_any_f32(const pl_fft_t *t, const float *x, const float *factors, const float *turns,
                                    float *y_start, float *scratch)
{
    float *y = y_start;
    for (int32_t i = 0; i < t->batch; i++) {
        for (int32_t j = 0; j < t->frames; j++) {
            pl_irfft_load(t, &x[(i * t->x_batch) + (j * t->x_frame)], turns, y);
            pl_fft_any_stages(t, factors, y, scratch);
            y = &y[t->n];
        }
    }
}

/* An odd number of real points, transformed as complex ones in `scratch`: n of them, then what the stages need. */
static inline void pl_irfft_odd_f32(const pl_fft_t *t, const float *x_start, const float *factors, float *y_start,
                                    float *scratch)
{
    float *y = y_start;
    for (int32_t i = 0; i < t->batch; i++) {
        for (int32_t j = 0; j < t->frames; j++) {
            const float *x = &x_start[(i * t->x_batch) + (j * t->x_frame)];
            int32_t digits[PL_FFT_STAGES];
            int32_t at = 0;
            pl_fft_start(t, digits);
            for (int32_t k = 0; k < t->n; k++) { /* the inverse: bin n - at */
                const int32_t mirrored = ((2 * at) < t->n) ? 1 : 0;
                const float *bin = &x[((mirrored != 0) ? at : (t->n - at)) * t->x_point];
                const float imaginary = (at != 0) ? bin[1] : 0.0f;
                scratch[2 * k] = bin[0] * t->scale;
                scratch[(2 * k) + 1] = ((mirrored != 0) ? -imaginary : imaginary) * t->scale;
                at = pl_fft_next(t, digits, at);
            }
            pl_fft_any_stages(t, factors, scratch, &scratch[2 * t->n]);
            for (int32_t k = 0; k < t->n; k++) {
                y[k] = scratch[2 * k];
            }
            y = &y[t->n];
        }
    }
}

#endif
