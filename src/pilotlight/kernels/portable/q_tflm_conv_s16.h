#ifndef PL_Q_TFLM_CONV_S16_H
#define PL_Q_TFLM_CONV_S16_H

#include <stdint.h>

#include "tflm_wide.h"

/* A convolution of int16 with int8 weights, channels last, rounded as TFLM does. */
typedef struct {
    int32_t n; // input (n, ih, iw, ic)
    int32_t ih;
    int32_t iw;
    int32_t ic;
    int32_t oh; // output (n, oh, ow, oc)
    int32_t ow;
    int32_t oc;
    int32_t kh; // kernel
    int32_t kw;
    int32_t sh; // stride
    int32_t sw;
    int32_t top; // padding above and to the left
    int32_t left;
    int32_t dh; // dilation
    int32_t dw;
    int32_t groups; // of channels
    int32_t wide;   // sums have 64 bits, and multipliers 16
    int32_t lo;
    int32_t hi;
} pl_q_tflm_conv_s16_t;

/* Products of one tap's channels; up to 256 of them in 32 bits at a time. */
static inline int64_t pl_q_tflm_tap_s16(const int16_t *x, const int8_t *w, int32_t n)
{
    int64_t sum = 0;
    int32_t part = 0;
    for (int32_t i = 0; i < n; i++) {
        part += x[i] * w[i];
        if ((i & 255) == 255) {
            sum += part;
            part = 0;
        }
    }
    return sum + part;
}

/* One output: x is the image at the group's first channel, w the filter (kh, kw, ic / groups). */
static inline int64_t pl_q_tflm_sum_s16(const pl_q_tflm_conv_s16_t *s, const int16_t *x, const int8_t *w, int64_t bias,
                                        int32_t row, int32_t column)
{
    const int32_t icg = s->ic / s->groups;
    int64_t acc = bias;
    for (int32_t r = 0; r < s->kh; r++) {
        const int32_t iy = (row * s->sh) - s->top + (r * s->dh);
        for (int32_t c = 0; (c < s->kw) && (iy >= 0) && (iy < s->ih); c++) {
            const int32_t ix = (column * s->sw) - s->left + (c * s->dw);
            if ((ix >= 0) && (ix < s->iw)) {
                acc += pl_q_tflm_tap_s16(x + (((iy * s->iw) + ix) * s->ic), w + (((r * s->kw) + c) * icg), icg);
            }
        }
    }
    return acc;
}

static inline void pl_q_tflm_conv_s16(const pl_q_tflm_conv_s16_t *s,
                                      const int16_t *x, // (n, ih, iw, ic)
                                      const int8_t *w,  // (oc, kh, kw, ic / groups)
                                      const int64_t *bias, const int32_t *m, const int32_t *shifts,
                                      int16_t *y_start) // (n, oh, ow, oc)
{
    const int32_t icg = s->ic / s->groups;
    const int32_t ocg = s->oc / s->groups;
    int16_t *y = y_start;
    for (int32_t i = 0; i < s->n; i++) {
        const int16_t *image = x + (i * s->ih * s->iw * s->ic);
        for (int32_t at = 0; at < (s->oh * s->ow); at++) {
            for (int32_t f = 0; f < s->oc; f++) {
                const int16_t *from = image + (f / ocg * icg);
                const int8_t *filter = w + (f * s->kh * s->kw * icg);
                const int64_t acc = pl_q_tflm_sum_s16(s, from, filter, bias[f], at / s->ow, at % s->ow);
                const int32_t narrow = pl_signed((uint32_t)pl_unsigned64(acc));
                const int32_t v = (s->wide != 0) ? pl_tflm_scaled_wide(acc, m[f], shifts[f])
                                                 : pl_tflm_scaled(narrow, m[f], shifts[f]);
                *y = (int16_t)pl_q_clamp(v, s->lo, s->hi);
                y++;
            }
        }
    }
}

#endif
