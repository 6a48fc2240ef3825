#ifndef PL_CONV_S8_H
#define PL_CONV_S8_H

#include "dots_s8.h"

/* All filters of one group of channels at one group of pixels. */
static inline void pl_filters_s8(const pl_conv_s8_t *s, int32_t pixels, const int8_t *patch, const int8_t *w_start,
                                 const int32_t *bias, const int32_t *m,
                                 int8_t *y) // (pixels, oc)
{
    const int8_t *w = w_start;
    const int32_t k = s->kw * s->kh * s->icg;
    const int32_t step = s->step * s->kh * s->icg;
    const int32_t oc = s->oc;
    const int32_t ocg = s->ocg;
    const pl_requantize_t q = {s->q.zy, s->q.shift, s->q.lo, s->q.hi}; // a store to y might change what s points to
    for (int32_t f = 0; f < ocg; f += 4) {
        const int32_t filters = ((ocg - f) < 4) ? (ocg - f) : 4;
        int32_t acc[4 * PL_PIXELS_S8]; // (pixels at once, 4)
        int32_t at_once = 1;
        for (int32_t p = 0; p < pixels; p += at_once) {
            at_once = ((pixels - p) >= PL_PIXELS_S8) ? PL_PIXELS_S8 : 1;
            if (at_once > 1) {
                pl_dots_s8(patch + (p * step), step, w, bias + f, k, acc);
            } else {
                pl_dot1_s8(patch + (p * step), w, bias + f, k, acc);
            }
            for (int32_t j = 0; j < filters; j++) {
                const int32_t multiplier = m[f + j];
                const int32_t *from = acc + j;
                int8_t *to = y + (p * oc) + f + j;
                for (int32_t i = at_once; i > 0; i--) {
                    *to = pl_requantize_s8(&q, *from, multiplier);
                    from = &from[4];
                    to = &to[oc];
                }
            }
        }
        w = &w[4 * k];
    }
}

/* A convolution. w is packed in blocks of four filters, (group, block, kw, kh, icg, 4); bias and m have one value per
 * filter and as many as fill the last block of each group. */
static inline void pl_conv_s8(const pl_conv_s8_t *s,
                              const int8_t *x, // (n, ih, iw, ic)
                              const int8_t *w, const int32_t *bias, const int32_t *m,
                              int8_t *y,     // (n, oh, ow, oc)
                              void *scratch) // the patch
{
    int8_t *const patch = (int8_t *)scratch; // (columns, kh, icg)
    const int32_t filled = (s->ocg + 3) & ~3;
    for (int32_t i = 0; i < s->n; i++) {
        for (int32_t j = 0; j < s->oh; j++) {
            for (int32_t k = 0; k < s->in_row; k++) {
                pl_group_s8_t g;
                pl_group_s8(s, i, j, k, &g);
                const int8_t *image = x + (g.image * s->ih * s->iw * s->ic);
                int8_t *out = y + (((((g.image * s->oh) + g.row) * s->ow) + g.col) * s->oc);
                for (int32_t c = 0; c < s->groups; c++) {
                    pl_gather_s8(s, &g, image + (c * s->icg), patch);
                    pl_filters_s8(s, g.pixels, patch, w + (c * filled * s->kw * s->kh * s->icg), bias + (c * filled),
                                  m + (c * filled), out + (c * s->ocg));
                }
            }
        }
    }
}

/* One row of inputs to outputs, read where they are: no patch. */
static inline void pl_row_s8(const pl_conv_s8_t *s,
                             const int8_t *x, // (ic)
                             const int8_t *w, const int32_t *bias, const int32_t *m,
                             int8_t *y) // (oc)
{
    pl_filters_s8(s, 1, x, w, bias, m, y);
}

#endif
