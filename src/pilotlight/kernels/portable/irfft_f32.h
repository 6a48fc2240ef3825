#ifndef PL_IRFFT_F32_H
#define PL_IRFFT_F32_H

#include "fft_f32.h"

/* Half of the bins of rows of an even number of real points: put together as those of pairs of points, then transformed
 * as complex ones of half the length. The imaginary parts of the first and of the last bin do not count. `turns` are
 * cosine and -sine of k / n turns, k = 0 to n / 4. */
static inline void pl_irfft_load(const pl_fft_t *t, const float *x, const float *w, float *y)
{
    const int32_t half = t->points;
    int32_t digits[PL_FFT_STAGES];
    int32_t at = 0;
    pl_fft_start(t, digits);
    for (int32_t i = 0; i < half; i++) {
        const int32_t source = (at != 0) ? (half - at) : 0; /* the inverse */
        if (source == 0) {
            const float last = x[half * t->x_point];
            y[2 * i] = t->scale * (x[0] + last);
            y[(2 * i) + 1] = t->scale * (x[0] - last);
        } else {
            const int32_t k = ((2 * source) <= half) ? source : (half - source);
            const float sign = (k == source) ? t->scale : -t->scale;
            const float *a = &x[k * t->x_point];
            const float *b = &x[(half - k) * t->x_point];
            const float sum0 = a[0] + b[0];
            const float sum1 = a[1] - b[1];
            const float d0 = a[0] - b[0];
            const float d1 = a[1] + b[1];
            const float turned0 = (d0 * w[2 * k]) + (d1 * w[(2 * k) + 1]);
            const float turned1 = (d1 * w[2 * k]) - (d0 * w[(2 * k) + 1]);
            y[2 * i] = (t->scale * sum0) - (sign * turned1);
            y[(2 * i) + 1] = (sign * sum1) + (t->scale * turned0);
        }
        at = pl_fft_next(t, digits, at);
    }
}

static inline void pl_irfft_f32(const pl_fft_t *t, const float *x, const float *factors, const float *turns,
                                float *y_start)
{
    float *y = y_start;
    for (int32_t i = 0; i < t->batch; i++) {
        for (int32_t j = 0; j < t->frames; j++) {
            pl_irfft_load(t, &x[(i * t->x_batch) + (j * t->x_frame)], turns, y);
            pl_fft_stages(t, factors, y);
            y = &y[t->n];
        }
    }
}

#endif
