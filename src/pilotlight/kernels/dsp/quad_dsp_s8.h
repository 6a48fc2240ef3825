#ifndef PL_QUAD_DSP_S8_H
#define PL_QUAD_DSP_S8_H

#include <stdint.h>

#include "dsp_s8.h"
#include "gather_dsp_s8.h"
#include "integer.h"

/* Fours of filters at one or two pixels, the first of which x is the window of. The stream of four filters: sums to
 * start from, for every two taps a word of the first and one of the second pair, multipliers; where they are rounded
 * twice, before each of these the bits to the right less one. Called with the struct of pairs of filters. */

/* Calls the block of `pixels` pixels; written for each model. */
static inline void pl_quad_block_s8(int32_t kind, int32_t pixels, const pl_dsp_conv_t *t);

static inline void pl_quad_twin_s8(const pl_dsp_conv_t *t, int32_t pixels, int32_t stride, int32_t shift,
                                   int32_t rounding)
{
    const pl_requantize_t q = {t->zy, shift, t->lo, t->hi};
    const int32_t each = (rounding == PL_ONCE) ? 1 : 2; // words of a filter at the end
    const int32_t words = 4 + (4 * each) + (t->steps * 4);
    int8_t *y = t->y;
    for (const int32_t *w = t->w; w != t->w_end; w = &w[words]) {
        for (int32_t i = 0; i < (2 * pixels); i++) { // pixel i / 2, pair i % 2
            const int32_t pair = 2 * (i & 1);
            const int16_t *at = t->x + ((i / 2) * stride);
            const int32_t *v = w + 4 + (i & 1);
            const int32_t *m = w + words + (each * (pair - 4));
            int8_t *to = y + ((i / 2) * t->y_pixel) + pair;
            int32_t a = pl_start_a(w + pair, 0);
            int32_t b = w[pair + 1];
            for (int32_t k = 0; k < (2 * t->steps); k++) {
                a += (at[0] * pl_weight_a(pl_low16(*v))) + (at[1] * pl_weight_a(pl_high16(*v)));
                b += (at[0] * pl_weight_b(pl_low16(*v))) + (at[1] * pl_weight_b(pl_high16(*v)));
                v = &v[2];
                at = &at[2];
            }
            to[0] = pl_rounded_s8(&q, rounding, a, m[each - 1], (each == 1) ? 0 : m[0]);
            to[1] = pl_rounded_s8(&q, rounding, b, m[(2 * each) - 1], (each == 1) ? 0 : m[2]);
        }
        y = &y[4];
    }
}

/* All filters of one group of channels at one group of pixels; pair_words counts the stream of four filters. What does
 * not fill four goes through spare memory. */
static inline void pl_filters_quad_s8(const pl_conv_dsp_t *d, int32_t pixels_start, const int16_t *patch_start,
                                      const int32_t *w, int8_t *y_start)
{
    int32_t pixels = pixels_start;
    const int16_t *patch = patch_start;
    int8_t *y = y_start;
    const pl_conv_s8_t *s = &d->s;
    const int32_t quads = pl_signed((uint32_t)s->ocg >> 2);
    const int32_t rest = s->ocg & 3;
    pl_dsp_conv_t t;
    t.steps = d->steps;
    t.zy = s->q.zy;
    t.lo = s->q.lo;
    t.hi = s->q.hi;
    while (pixels > 0) {
        const int32_t taken = (pixels == 1) ? 1 : 2;
        t.x = patch;
        t.x_end = patch + (4 * d->steps);
        t.w = w;
        t.w_end = w + (quads * d->pair_words);
        t.y = y;
        t.y_pixel = s->oc;
        if (quads > 0) {
            pl_quad_block_s8(d->kind, taken, &t);
        }
        if (rest > 0) {
            int8_t spare[8] = {0}; // (pixels, 4)
            t.w = t.w_end;
            t.w_end = &t.w_end[d->pair_words];
            t.y = spare;
            t.y_pixel = 4;
            pl_quad_block_s8(d->kind, taken, &t);
            for (int32_t p = 0; p < taken; p++) {
                for (int32_t k = 0; k < rest; k++) {
                    y[(p * s->oc) + (4 * quads) + k] = spare[(4 * p) + k];
                }
            }
        }
        pixels -= taken;
        patch = &patch[taken * d->stride];
        y = &y[taken * s->oc];
    }
}

/* A convolution. w holds the streams of the fours of each group of channels. */
static inline void pl_quad_dsp_s8(const pl_conv_dsp_t *d,
                                  const int8_t *x, // (n, ih, iw, ic)
                                  const int32_t *w,
                                  int8_t *y,     // (n, oh, ow, oc)
                                  void *scratch) // the patch
{
    int16_t *const patch = (int16_t *)scratch;
    const pl_conv_s8_t *s = &d->s;
    const int32_t words = pl_signed(pl_unsigned(s->ocg + 3) >> 2) * d->pair_words;
    for (int32_t i = 0; i < s->n; i++) {
        for (int32_t j = 0; j < s->oh; j++) {
            for (int32_t k = 0; k < s->in_row; k++) {
                pl_group_s8_t g;
                pl_group_s8(s, i, j, k, &g);
                const int8_t *image = x + (g.image * s->ih * s->iw * s->ic);
                int8_t *out = y + (((((g.image * s->oh) + g.row) * s->ow) + g.col) * s->oc);
                for (int32_t c = 0; c < s->groups; c++) {
                    pl_gather_s16(d, &g, image + (c * s->icg), patch);
                    pl_filters_quad_s8(d, g.pixels, patch, w + (c * words), out + (c * s->ocg));
                }
            }
        }
    }
}

#endif
