#ifndef PL_RFFT_F32_H
#define PL_RFFT_F32_H

#include "fft_f32.h"

/* Rows of an even number of real points: a complex transform of half the length, whose points are pairs of real ones,
 * then taken apart. The points are multiplied by a window, or by one number. `turns` are cosine and -sine of k / n
 * turns, k = 0 to n / 4. */
static inline void pl_rfft_load(const pl_fft_t *t, const float *x, const float *window, float *y)
{
    int32_t digits[PL_FFT_STAGES];
    int32_t at = 0;
    pl_fft_start(t, digits);
    for (int32_t i = 0; i < t->points; i++) {
        const float *pair = &x[2 * at * t->x_point];
        const float *weights = &window[2 * at * t->w_point];
        y[2 * i] = pair[0] * weights[0];
        y[(2 * i) + 1] = pair[t->x_point] * weights[t->w_point];
        at = pl_fft_next(t, digits, at);
    }
}

/* From the transform of the pairs to that of the real points; the bins after n / 2 are those before it mirrored. */
static inline void pl_rfft_split(const pl_fft_t *t, const float *turns, float *y)
{
    const int32_t half = t->points;
    const float first = y[0];
    y[0] = first + y[1];
    y[2 * half] = first - y[1];
    y[1] = 0.0f;
    y[(2 * half) + 1] = 0.0f;
    for (int32_t k = 1; (2 * k) <= half; k++) {
        float *a = &y[2 * k];
        float *b = &y[2 * (half - k)];
        const float *w = &turns[2 * k];
        const float even0 = 0.5f * (a[0] + b[0]);
        const float even1 = 0.5f * (a[1] - b[1]);
        const float odd0 = 0.5f * (a[1] + b[1]);
        const float odd1 = 0.5f * (b[0] - a[0]);
        const float turned0 = (odd0 * w[0]) - (odd1 * w[1]);
        const float turned1 = (odd0 * w[1]) + (odd1 * w[0]);
        b[0] = even0 - turned0;
        b[1] = turned1 - even1;
        a[0] = even0 + turned0;
        a[1] = even1 + turned1;
    }
}

/* Every bin of a real row, of which the first half is known. */
static inline void pl_rfft_mirror(const pl_fft_t *t, float *y)
{
    for (int32_t k = (t->n / 2) + 1; k < t->bins; k++) {
        y[2 * k] = y[2 * (t->n - k)];
        y[(2 * k) + 1] = -y[(2 * (t->n - k)) + 1];
    }
}

static inline void pl_rfft_f32(const pl_fft_t *t, const float *x, const float *factors, const float *turns,
                               const float *window, float *y_start)
{
    float *y = y_start;
    for (int32_t i = 0; i < t->batch; i++) {
        for (int32_t j = 0; j < t->frames; j++) {
            pl_rfft_load(t, &x[(i * t->x_batch) + (j * t->x_frame)], window, y);
            pl_fft_stages(t, factors, y);
            pl_rfft_split(t, turns, y);
            pl_rfft_mirror(t, y);
            y = &y[2 * t->bins];
        }
    }
}

#endif
