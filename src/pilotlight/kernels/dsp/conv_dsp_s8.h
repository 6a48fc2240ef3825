#ifndef PL_CONV_DSP_S8_H
#define PL_CONV_DSP_S8_H

#include <stdint.h>

#include "dsp_s8.h"
#include "gather_dsp_s8.h"
#include "integer.h"

/* Calls the block of `pixels` pixels; written for each model. */
static inline void pl_conv_block_s8(int32_t kind, int32_t pixels, const pl_dsp_conv_t *t);

/* All filters of one group of channels at one group of pixels. The last of an odd number goes through spare memory. */
static inline void pl_filters_dsp_s8(const pl_conv_dsp_t *d, int32_t pixels_start, const int16_t *patch_start,
                                     const int32_t *w, int8_t *y_start)
{
    int32_t pixels = pixels_start;
    const int16_t *patch = patch_start;
    int8_t *y = y_start;
    const pl_conv_s8_t *s = &d->s;
    const int32_t pairs = pl_signed((uint32_t)s->ocg >> 1);
    pl_dsp_conv_t t;
    t.steps = d->steps;
    t.zy = s->q.zy;
    t.lo = s->q.lo;
    t.hi = s->q.hi;
    while (pixels > 0) {
        int32_t taken = 3;
        if (pixels == 1) {
            taken = 1;
        } else if ((pixels == 2) || (pixels == 4)) {
            taken = 2;
        } else {
            /* by three */
        }
        t.x = (taken == 3) ? (patch + d->stride) : patch;
        t.x_end = t.x + (4 * d->steps);
        t.w = w;
        t.w_end = w + (pairs * d->pair_words);
        t.y = y;
        t.y_pixel = s->oc;
        if (pairs > 0) {
            pl_conv_block_s8(d->kind, taken, &t);
        }
        if ((s->ocg & 1) != 0) {
            int8_t spare[6] = {0}; // (pixels, 2)
            t.w = t.w_end;
            t.w_end = &t.w_end[d->pair_words];
            t.y = spare;
            t.y_pixel = 2;
            pl_conv_block_s8(d->kind, taken, &t);
            for (int32_t p = 0; p < taken; p++) {
                y[(p * s->oc) + s->ocg - 1] = spare[2 * p];
            }
        }
        pixels -= taken;
        patch = &patch[taken * d->stride];
        y = &y[taken * s->oc];
    }
}

/* A convolution. w holds the streams of the pairs of each group of channels. */
static inline void pl_conv_dsp_s8(const pl_conv_dsp_t *d,
                                  const int8_t *x, // (n, ih, iw, ic)
                                  const int32_t *w,
                                  int8_t *y,     // (n, oh, ow, oc)
                                  void *scratch) // the patch
{
    int16_t *const patch = (int16_t *)scratch;
    const pl_conv_s8_t *s = &d->s;
    const int32_t words = pl_signed(pl_unsigned(s->ocg + 1) >> 1) * d->pair_words;
    for (int32_t i = 0; i < s->n; i++) {
        for (int32_t j = 0; j < s->oh; j++) {
            for (int32_t k = 0; k < s->in_row; k++) {
                pl_group_s8_t g;
                pl_group_s8(s, i, j, k, &g);
                const int8_t *image = x + (g.image * s->ih * s->iw * s->ic);
                int8_t *out = y + (((((g.image * s->oh) + g.row) * s->ow) + g.col) * s->oc);
                for (int32_t c = 0; c < s->groups; c++) {
                    pl_gather_s16(d, &g, image + (c * s->icg), patch);
                    pl_filters_dsp_s8(d, g.pixels, patch, w + (c * words), out + (c * s->ocg));
                }
            }
        }
    }
}

#endif
