#ifndef PL_Q_CONV_TRANSPOSE2D_H
#define PL_Q_CONV_TRANSPOSE2D_H

#include "q_clamp.h"

/* A 2-d transposed convolution of int8, channels last. */
typedef struct {
    int32_t n, ih, iw, ic; // input (n, ih, iw, ic)
    int32_t oh, ow, oc;    // output (n, oh, ow, oc), output padding included
    int32_t kh, kw;        // kernel
    int32_t sh, sw;        // stride
    int32_t pt, pl;        // padding taken off above and to the left
    int32_t dh, dw;        // dilation
    int32_t groups;        // of channels
    int32_t zx;            // the zero point of x
    pl_q_out_t out;
} pl_q_conv_transpose2d_t;

/* The input row or column that tap k of output o reads, or -1. */
static inline int32_t pl_q_transposed_tap(int32_t o, int32_t k, int32_t stride, int32_t padding, int32_t dilation,
                                          int32_t size)
{
    const int32_t at = o + padding - k * dilation;
    return at < 0 || at % stride != 0 || at / stride >= size ? -1 : at / stride;
}

/* The sum of one output pixel and filter, whose weights w are (kh, kw, ic / groups). */
static inline int32_t pl_q_transposed_sum(const pl_q_conv_transpose2d_t *s, const int8_t *x, const int8_t *w,
                                          int32_t sum, int32_t oy, int32_t ox)
{
    const int32_t icg = s->ic / s->groups;
    for (int32_t r = 0; r < s->kh; r++) {
        const int32_t iy = pl_q_transposed_tap(oy, r, s->sh, s->pt, s->dh, s->ih);
        for (int32_t q = 0; iy >= 0 && q < s->kw; q++) {
            const int32_t ix = pl_q_transposed_tap(ox, q, s->sw, s->pl, s->dw, s->iw);
            if (ix >= 0) {
                const int8_t *p = x + (iy * s->iw + ix) * s->ic; // (icg)
                const int8_t *t = w + (r * s->kw + q) * icg;     // (icg)
                for (int32_t k = 0; k < icg; k++) {
                    sum += (p[k] - s->zx) * t[k];
                }
            }
        }
    }
    return sum;
}

/* Gathered: every output pixel sums the taps that reach it. w (oc, kh, kw, ic / groups), bias and m (oc). */
static inline void pl_q_conv_transpose2d(const pl_q_conv_transpose2d_t *s, const int8_t *x, const int8_t *w,
                                         const int32_t *bias, const int32_t *m, int8_t *y)
{
    const int32_t icg = s->ic / s->groups, ocg = s->oc / s->groups;
    for (int32_t n = 0; n < s->n; n++, x += s->ih * s->iw * s->ic) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            for (int32_t ox = 0; ox < s->ow; ox++) {
                for (int32_t f = 0, g = 0; g < s->groups; g++) {
                    for (int32_t i = 0; i < ocg; i++, f++) {
                        const int8_t *filter = w + f * s->kh * s->kw * icg;
                        const int32_t sum = pl_q_transposed_sum(s, x + g * icg, filter, bias[f], oy, ox);
                        *y++ = pl_q_out(&s->out, sum, m[f]);
                    }
                }
            }
        }
    }
}

#endif
