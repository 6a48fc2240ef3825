#ifndef PL_RFFT_ANY_F32_H
#define PL_RFFT_ANY_F32_H

#include "fft_any_f32.h"
#include "rfft_f32.h"

/* An even number of real points whose half is not a power of two. */
static inline void pl_rfft_any_f32(const pl_fft_t *t, const float *x, const float *factors, const float *turns,
                                   const float *window, float *y_start, float *scratch)
{
    float *y = y_start;
    for (int32_t i = 0; i < t->batch; i++) {
        for (int32_t j = 0; j < t->frames; j++) {
            pl_rfft_load(t, &x[(i * t->x_batch) + (j * t->x_frame)], window, y);
            pl_fft_any_stages(t, factors, y, scratch);
            pl_rfft_split(t, turns, y);
            pl_rfft_mirror(t, y);
            y = &y[2 * t->bins];
        }
    }
}

/* An odd number of real points, transformed as complex ones in `scratch`: n of them, then what the stages need. */
static inline void pl_rfft_odd_load(const pl_fft_t *t, const float *x, const float *window, float *y)
{
    int32_t digits[PL_FFT_STAGES];
    int32_t at = 0;
    pl_fft_start(t, digits);
    for (int32_t i = 0; i < t->n; i++) {
        y[2 * i] = x[at * t->x_point] * window[at * t->w_point];
        y[(2 * i) + 1] = 0.0f;
        at = pl_fft_next(t, digits, at);
    }
}

static inline void pl_rfft_odd_f32(const pl_fft_t *t, const float *x, const float *factors, const float *window,
                                   float *y_start, float *scratch)
{
    float *y = y_start;
    for (int32_t i = 0; i < t->batch; i++) {
        for (int32_t j = 0; j < t->frames; j++) {
            pl_rfft_odd_load(t, &x[(i * t->x_batch) + (j * t->x_frame)], window, scratch);
            pl_fft_any_stages(t, factors, scratch, &scratch[2 * t->n]);
            for (int32_t k = 0; k < t->bins; k++) {
                y[2 * k] = scratch[2 * k];
                y[(2 * k) + 1] = scratch[(2 * k) + 1];
            }
            y[1] = 0.0f;
            y = &y[2 * t->bins];
        }
    }
}

#endif
