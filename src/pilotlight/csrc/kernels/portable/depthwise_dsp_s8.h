#ifndef PL_DEPTHWISE_DSP_S8_H
#define PL_DEPTHWISE_DSP_S8_H

#include <stdint.h>

#include "dsp_s8.h"
#include "patch_s8.h"

/* A 3x3 convolution of each channel with one filter of its own, four channels and one or two output rows at a time.
 * Their four input rows are first brought into a patch (columns, 4 channels, 2) of words: input rows 0 and 1, then 2
 * and 3, as 16-bit halves. */
typedef struct {
    pl_conv_s8_t s;
    int32_t kind; // PL_DEPTHWISE_*: which blocks
    int32_t rows; // output rows at a time: 2, or 1 with a vertical stride
} pl_depthwise_dsp_t;

/* Two input rows of four channels into a patch. The assembly knows the order of fields. */
typedef struct {
    const int8_t *a, *b; // the rows, at the first column and channel; null: outside the image
    int32_t *to;
    int32_t columns;
    int32_t ic; // from a column to the next
    int32_t zx; // both halves the zero point
} pl_dsp_pairs_t;

/* Four channels of one or two output rows. A channel's words: for each kernel column the weights (0, 1) and (1, 2) of
 * its rows, the sum to start from, the multiplier. */
typedef struct {
    const int32_t *x; // (columns, 4, 2)
    const int32_t *w; // (4, 8)
    int8_t *y;        // first channel's output at the first pixel of the first row
    int32_t pixels;
    int32_t oc;    // from a pixel's outputs to the next pixel's
    int32_t y_row; // from an output row to the next
    int32_t zy, lo, hi;
} pl_dsp_depthwise_t;

/* Written for each model. */
static inline void pl_pairs_s8(const pl_dsp_pairs_t *t);
static inline void pl_depthwise_block_s8(int32_t kind, int32_t rows, const pl_dsp_depthwise_t *t);

static inline int32_t pl_word16(int32_t low, int32_t high)
{
    return (int32_t)(((uint32_t)low & 0xffffu) | ((uint32_t)high << 16));
}

static inline void pl_pairs_twin_s8(const pl_dsp_pairs_t *t)
{
    const int32_t z = pl_low16(t->zx);
    for (int32_t c = 0; c < t->columns; c++) {
        for (int32_t k = 0; k < 4; k++) {
            t->to[8 * c + 2 * k] = pl_word16(t->a ? t->a[c * t->ic + k] : z, t->b ? t->b[c * t->ic + k] : z);
        }
    }
}

static inline void pl_depthwise_twin_s8(const pl_dsp_depthwise_t *t, int32_t rows, int32_t sw, int32_t shift)
{
    const pl_requantize_t q = {t->zy, shift, t->lo, t->hi};
    for (int32_t k = 0; k < 4; k++) {
        const int32_t *w = t->w + 8 * k;
        for (int32_t p = 0; p < t->pixels; p++) {
            int32_t first = w[6], second = w[6];
            for (int32_t c = 0; c < 3; c++) {
                const int32_t *x = t->x + 8 * (p * sw + c) + 2 * k;
                const int32_t w0 = pl_low16(w[2 * c]), w1 = pl_high16(w[2 * c]), w2 = pl_high16(w[2 * c + 1]);
                first += pl_low16(x[0]) * w0 + pl_high16(x[0]) * w1 + pl_low16(x[1]) * w2;
                second += pl_high16(x[0]) * w0 + pl_low16(x[1]) * w1 + pl_high16(x[1]) * w2;
            }
            t->y[p * t->oc + k] = pl_requantize_s8(&q, first, w[7]);
            if (rows == 2) {
                t->y[t->y_row + p * t->oc + k] = pl_requantize_s8(&q, second, w[7]);
            }
        }
    }
}

/* Columns `first` up to, not including, `end` of the patch lie inside the image; the others hold the zero point and are
 * written once. */
static inline void pl_depthwise_dsp_s8(const pl_depthwise_dsp_t *d,
                                       const int8_t *x,  // (n, ih, iw, ic)
                                       const int32_t *w, // (ic, 8)
                                       int8_t *y,        // (n, oh, ow, ic)
                                       void *scratch)    // the patch
{
    int32_t *patch = (int32_t *)scratch; // (columns, 4, 2)
    const pl_conv_s8_t *s = &d->s;
    const int32_t columns = (s->ow - 1) * s->sw + 3;
    const int32_t first = s->pl < columns ? s->pl : columns;
    const int32_t inside = s->pl + s->iw < columns ? s->pl + s->iw : columns;
    const int32_t groups = d->rows == 2 ? (int32_t)((uint32_t)(s->oh + 1) >> 1) : s->oh;
    pl_dsp_pairs_t g;
    pl_dsp_depthwise_t t;
    g.columns = inside > first ? inside - first : 0;
    g.ic = s->ic;
    g.zx = pl_word16(s->zx, s->zx);
    t.x = patch;
    t.pixels = s->ow;
    t.oc = s->ic;
    t.y_row = s->ow * s->ic;
    t.zy = s->q.zy;
    t.lo = s->q.lo;
    t.hi = s->q.hi;
    for (int32_t i = 0; i < 8 * columns; i++) {
        PL_BARRIER(patch);
        patch[i] = g.zx;
    }
    for (int32_t i = 0; i < s->n; i++) {
        const int32_t image = s->reverse ? s->n - 1 - i : i;
        for (int32_t j = 0; j < groups; j++) {
            const int32_t row = (s->reverse ? groups - 1 - j : j) * d->rows;
            const int32_t rows = s->oh - row < d->rows ? 1 : d->rows;
            const int32_t top = row * s->sh - s->pt;
            const int8_t *in = x + image * s->ih * s->iw * s->ic;
            int8_t *out = y + (image * s->oh + row) * s->ow * s->ic;
            for (int32_t c = 0; c < s->ic; c += 4) {
                const int32_t k = c + 4 <= s->ic ? c : s->ic - 4; // the last four may be partly those before them
                for (int32_t half = 0; half < 2 && g.columns > 0; half++) {
                    const int32_t r = top + 2 * half;
                    g.a = r >= 0 && r < s->ih ? in + r * s->iw * s->ic + k : 0;
                    g.b = r + 1 >= 0 && r + 1 < s->ih && half < rows ? in + (r + 1) * s->iw * s->ic + k : 0;
                    g.to = patch + 8 * first + half;
                    pl_pairs_s8(&g);
                }
                t.w = w + 8 * k;
                t.y = out + k;
                pl_depthwise_block_s8(d->kind, rows, &t);
            }
        }
    }
}

#endif
