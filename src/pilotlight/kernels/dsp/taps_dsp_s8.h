#ifndef PL_TAPS_DSP_S8_H
#define PL_TAPS_DSP_S8_H

#include <stdint.h>

#include "depthwise_s8.h"
#include "dsp_s8.h"
#include "integer.h"

/* A depthwise convolution with any kernel, four channels of a pixel at a time. */
typedef struct {
    pl_conv_s8_t s;
    int32_t kind; // PL_TAPS_*: which block
} pl_taps_dsp_t;

/* Some channels of one pixel, by four. The stream of four: sums to start from, for each tap the weights (0, 2) and
 * (1, 3) as 16-bit halves, multipliers. Where they are rounded twice, the sums are times 256, plus the bits to the
 * right less one. The assembly knows the order of fields. */
typedef struct {
    const int8_t *x;
    int32_t kh;
    int32_t kw;
    int32_t column; // from a tap to the next of its row
    int32_t row;    // from the end of the last tap of a row to the first of the next
    const int32_t *w;
    const int32_t *w_end;
    int8_t *y;
    int32_t zy;
    int32_t lo;
    int32_t hi;
} pl_dsp_taps_t;

/* Written for each model. */
static inline void pl_taps_block_s8(int32_t kind, int32_t channels, const pl_dsp_taps_t *t);

static inline void pl_taps_twin_s8(const pl_dsp_taps_t *t, int32_t shift, int32_t rounding)
{
    const pl_requantize_t q = {t->zy, shift, t->lo, t->hi};
    const int32_t words = 8 + (2 * t->kh * t->kw);
    const int8_t *x = t->x;
    int8_t *y = t->y;
    for (const int32_t *w = t->w; w != t->w_end; w = &w[words]) {
        for (int32_t k = 0; k < 4; k++) {
            const int8_t *at = x + k;
            const int32_t *v = w + 4 + (k & 1);
            const int32_t right = (rounding == PL_ONCE) ? 0 : (w[k] & 0xff);
            int32_t acc = (rounding == PL_ONCE) ? w[k] : pl_shr(w[k], 8);
            for (int32_t r = 0; r < t->kh; r++) {
                for (int32_t c = 0; c < t->kw; c++) {
                    acc += *at * ((k < 2) ? pl_low16(*v) : pl_high16(*v));
                    at = &at[t->column];
                    v = &v[2];
                }
                at = &at[t->row];
            }
            y[k] = pl_rounded_s8(&q, rounding, acc, w[words - 4 + k], right);
        }
        x = &x[4];
        y = &y[4];
    }
}

static inline void pl_taps_dsp_s8(const pl_taps_dsp_t *d,
                                  const int8_t *x, // (n, ih, iw, ic)
                                  const int32_t *w,
                                  int8_t *y,     // (n, oh, ow, ic)
                                  void *scratch) // the patch
{
    const pl_conv_s8_t *s = &d->s;
    const int32_t words = 8 + (2 * s->kh * s->kw);
    const int32_t fours = pl_signed((uint32_t)s->ic >> 2);
    int8_t *const patch = (int8_t *)scratch; // (kh, columns, ic)
    pl_dsp_taps_t t = {patch, s->kh, s->kw, s->dw * s->ic, 0, w, w, y, s->q.zy, s->q.lo, s->q.hi};
    for (int32_t i = 0; i < s->n; i++) {
        for (int32_t j = 0; j < s->oh; j++) {
            for (int32_t k = 0; k < s->in_row; k++) {
                pl_group_s8_t g;
                pl_group_s8(s, i, j, k, &g);
                int8_t *out = y + (((((g.image * s->oh) + g.row) * s->ow) + g.col) * s->ic);
                const int8_t *from = patch;
                pl_gather_channels_s8(s, &g, x + (g.image * s->ih * s->iw * s->ic), patch);
                t.row = ((((g.pixels - 1) * s->sw) + ((s->kw - 1) * s->dw) + 1) * s->ic) - (s->kw * t.column);
                for (int32_t p = 0; p < g.pixels; p++) {
                    t.x = from;
                    t.y = out;
                    t.w = w;
                    t.w_end = w + (fours * words);
                    pl_taps_block_s8(d->kind, 4, &t);
                    if ((s->ic & 3) != 0) { // the last four are partly those before them
                        t.x = from + s->ic - 4;
                        t.y = out + s->ic - 4;
                        t.w = t.w_end;
                        t.w_end = &t.w_end[words];
                        pl_taps_block_s8(d->kind, 4, &t);
                    }
                    from = &from[s->sw * s->ic];
                    out = &out[s->ic];
                }
            }
        }
    }
}

#endif
