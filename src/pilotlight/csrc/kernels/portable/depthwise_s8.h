#ifndef PL_DEPTHWISE_S8_H
#define PL_DEPTHWISE_S8_H

#include <stdint.h>

#include "patch_s8.h"

/* Copies what a group of pixels sees of all channels. */
static inline void pl_gather_channels_s8(const pl_conv_s8_t *s, const pl_group_s8_t *g,
                                         const int8_t *x, // (ih, iw, ic)
                                         int8_t *patch)   // (kh, columns, ic)
{
    const int32_t columns = (g->pixels - 1) * s->sw + (s->kw - 1) * s->dw + 1;
    const int32_t at = g->col * s->sw - s->pl;
    int32_t row = g->row * s->sh - s->pt;
    for (int32_t r = 0; r < s->kh; r++) {
        for (int32_t c = 0; c < columns; c++) {
            if (row >= 0 && row < s->ih && at + c >= 0 && at + c < s->iw) {
                pl_copy(patch, x + (row * s->iw + at + c) * s->ic, s->ic);
                patch += s->ic;
            } else {
                for (int32_t k = s->ic; k > 0; k--) {
                    PL_BARRIER(patch);
                    *patch++ = (int8_t)s->zx;
                }
            }
        }
        row += s->dh;
    }
}

/* Four channels of one pixel. */
static inline void pl_depthwise4_s8(const pl_conv_s8_t *s, int32_t row, const int8_t *x, const int8_t *w,
                                    const int32_t *bias, const int32_t *m, int8_t *y)
{
    int32_t a0 = bias[0], a1 = bias[1], a2 = bias[2], a3 = bias[3];
    const int32_t step = s->dw * s->ic;
    for (int32_t r = s->kh; r > 0; r--) {
        const int8_t *at = x;
        for (int32_t c = s->kw; c > 0; c--) {
            a0 += at[0] * w[0], a1 += at[1] * w[1], a2 += at[2] * w[2], a3 += at[3] * w[3];
            at += step;
            w += s->ic;
        }
        x += row;
    }
    y[0] = pl_requantize_s8(&s->q, a0, m[0]);
    y[1] = pl_requantize_s8(&s->q, a1, m[1]);
    y[2] = pl_requantize_s8(&s->q, a2, m[2]);
    y[3] = pl_requantize_s8(&s->q, a3, m[3]);
}

/* One channel of one pixel. */
static inline void pl_depthwise1_s8(const pl_conv_s8_t *s, int32_t row, const int8_t *x, const int8_t *w, int32_t bias,
                                    int32_t m, int8_t *y)
{
    const int32_t step = s->dw * s->ic;
    for (int32_t r = s->kh; r > 0; r--) {
        const int8_t *at = x;
        for (int32_t c = s->kw; c > 0; c--) {
            bias += *at * *w;
            at += step;
            w += s->ic;
        }
        x += row;
    }
    *y = pl_requantize_s8(&s->q, bias, m);
}

/* A convolution of each channel with one filter of its own. */
static inline void pl_depthwise_s8(const pl_conv_s8_t *s,
                                   const int8_t *x, // (n, ih, iw, ic)
                                   const int8_t *w, // (kh, kw, ic)
                                   const int32_t *bias, const int32_t *m,
                                   int8_t *y,     // (n, oh, ow, ic)
                                   void *scratch) // the patch
{
    int8_t *const patch = (int8_t *)scratch; // (kh, columns, ic)
    const int32_t groups = pl_groups_in_row_s8(s);
    for (int32_t i = 0; i < s->n; i++) {
        for (int32_t j = 0; j < s->oh; j++) {
            for (int32_t k = 0; k < groups; k++) {
                const pl_group_s8_t g = pl_group_s8(s, i, j, k);
                const int32_t row = ((g.pixels - 1) * s->sw + (s->kw - 1) * s->dw + 1) * s->ic;
                int8_t *out = y + ((g.image * s->oh + g.row) * s->ow + g.col) * s->ic;
                pl_gather_channels_s8(s, &g, x + g.image * s->ih * s->iw * s->ic, patch);
                for (int32_t p = 0; p < g.pixels; p++) {
                    const int8_t *from = patch + p * s->sw * s->ic;
                    int32_t c = 0;
                    for (; c + 4 <= s->ic; c += 4) {
                        pl_depthwise4_s8(s, row, from + c, w + c, bias + c, m + c, out + c);
                    }
                    for (; c < s->ic; c++) {
                        pl_depthwise1_s8(s, row, from + c, w + c, bias[c], m[c], out + c);
                    }
                    out += s->ic;
                }
            }
        }
    }
}

#endif
