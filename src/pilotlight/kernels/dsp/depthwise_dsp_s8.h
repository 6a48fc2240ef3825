#ifndef PL_DEPTHWISE_DSP_S8_H
#define PL_DEPTHWISE_DSP_S8_H

#include <stddef.h>
#include <stdint.h>

#include "dsp_s8.h"
#include "integer.h"
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
    const int8_t *a; // the rows, at the first column and channel; null: outside the image
    const int8_t *b;
    int32_t *to;
    int32_t columns;
    int32_t ic; // from a column to the next
    int32_t zx; // both halves the zero point
} pl_dsp_pairs_t;

/* Four channels of one or two output rows. A channel's words: for each kernel column the weights (0, 1) and (1, 2) of
 * its rows, the sum to start from, the multiplier. Where they are rounded twice, weights and
 * sum are doubled, and the sum is times 256, plus the bits to the right less one. */
typedef struct {
    const int32_t *x; // (columns, 4, 2)
    const int32_t *w; // (4, 8)
    int8_t *y;        // first channel's output at the first pixel of the first row
    int32_t pixels;
    int32_t oc;    // from a pixel's outputs to the next pixel's
    int32_t y_row; // from an output row to the next
    int32_t zy;
    int32_t lo;
    int32_t hi;
} pl_dsp_depthwise_t;

/* Written for each model. */
static inline void pl_pairs_s8(const pl_dsp_pairs_t *t);
static inline void pl_depthwise_block_s8(int32_t kind, int32_t rows, const pl_dsp_depthwise_t *t);

static inline int32_t pl_word16(int32_t low, int32_t high)
{
    return pl_signed(((uint32_t)low & 0xffffu) | ((uint32_t)high << 16));
}

static inline void pl_pairs_twin_s8(const pl_dsp_pairs_t *t)
{
    const int32_t z = pl_low16(t->zx);
    for (int32_t c = 0; c < t->columns; c++) {
        for (int32_t k = 0; k < 4; k++) {
            t->to[(8 * c) + (2 * k)] =
                pl_word16((t->a != NULL) ? t->a[(c * t->ic) + k] : z, (t->b != NULL) ? t->b[(c * t->ic) + k] : z);
        }
    }
}

static inline void pl_depthwise_twin_s8(const pl_dsp_depthwise_t *t, int32_t rows, int32_t sw, int32_t shift,
                                        int32_t rounding)
{
    const pl_requantize_t q = {t->zy, shift, t->lo, t->hi};
    for (int32_t k = 0; k < 4; k++) {
        const int32_t *w = t->w + (8 * k);
        const int32_t right = (rounding == PL_ONCE) ? 0 : (w[6] & 0xff);
        const int32_t start = (rounding == PL_ONCE) ? w[6] : pl_shr(w[6], 8);
        for (int32_t p = 0; p < t->pixels; p++) {
            int32_t first = start;
            int32_t second = start;
            for (int32_t c = 0; c < 3; c++) {
                const int32_t *x = t->x + (8 * ((p * sw) + c)) + (2 * k);
                const int32_t w0 = pl_low16(w[2 * c]);
                const int32_t w1 = pl_high16(w[2 * c]);
                const int32_t w2 = pl_high16(w[(2 * c) + 1]);
                first += (pl_low16(x[0]) * w0) + (pl_high16(x[0]) * w1) + (pl_low16(x[1]) * w2);
                second += (pl_high16(x[0]) * w0) + (pl_low16(x[1]) * w1) + (pl_high16(x[1]) * w2);
            }
            if (rounding != PL_ONCE) {
                first = pl_shr(first, 1);
                second = pl_shr(second, 1);
            }
            t->y[(p * t->oc) + k] = pl_rounded_s8(&q, rounding, first, w[7], right);
            if (rows == 2) {
                t->y[t->y_row + (p * t->oc) + k] = pl_rounded_s8(&q, rounding, second, w[7], right);
            }
        }
    }
}

/* Fills the columns of a patch from `first` to before `end`. */
static inline void pl_fill_columns_s8(int32_t *patch, int32_t first, int32_t end, int32_t word)
{
    for (int32_t i = 8 * first; i < (8 * end); i++) {
        patch[i] = word;
        PL_BARRIER(patch);
    }
}

/* Some pixels of one or two output rows, all channels. Columns of the patch that lie outside the image hold the zero
 * point. */
static inline void pl_depthwise_group_s8(const pl_depthwise_dsp_t *d, const pl_group_s8_t *g, int32_t rows,
                                         const int8_t *x_start, // (ih, iw, ic)
                                         const int32_t *w,      // (ic, 8)
                                         int8_t *y,             // (oh, ow, ic)
                                         int32_t *patch)        // (columns, 4, 2)
{
    const int8_t *x = x_start;
    const pl_conv_s8_t *s = &d->s;
    const int32_t columns = ((g->pixels - 1) * s->sw) + 3;
    const int32_t at = (g->col * s->sw) - s->left;
    const int32_t top = (g->row * s->sh) - s->top;
    const int32_t first = (at < 0) ? (((at + columns) < 0) ? columns : -at) : 0;
    const int32_t end = ((at + columns) < s->iw) ? columns : (s->iw - at);
    int8_t *out = y + (((g->row * s->ow) + g->col) * s->ic);
    pl_dsp_pairs_t p;
    pl_dsp_depthwise_t t;
    p.columns = (end > first) ? (end - first) : 0;
    p.ic = s->ic;
    p.zx = pl_word16(s->zx, s->zx);
    t.x = patch;
    t.pixels = g->pixels;
    t.oc = s->ic;
    t.y_row = s->ow * s->ic;
    t.zy = s->q.zy;
    t.lo = s->q.lo;
    t.hi = s->q.hi;
    pl_fill_columns_s8(patch, 0, first, p.zx);
    pl_fill_columns_s8(patch, first + p.columns, columns, p.zx);
    x = &x[(at + first) * s->ic];
    for (int32_t c = 0; c < s->ic; c += 4) {
        const int32_t k = ((c + 4) <= s->ic) ? c : (s->ic - 4); // the last four may be partly those before them
        for (int32_t half = 0; (half < 2) && (p.columns > 0); half++) {
            const int32_t r = top + (2 * half);
            p.a = ((r >= 0) && (r < s->ih)) ? (x + (r * s->iw * s->ic) + k) : NULL;
            p.b = (((r + 1) >= 0) && ((r + 1) < s->ih) && (half < rows)) ? (x + ((r + 1) * s->iw * s->ic) + k) : NULL;
            p.to = patch + (8 * first) + half;
            pl_pairs_s8(&p);
        }
        t.w = w + (8 * k);
        t.y = out + k;
        pl_depthwise_block_s8(d->kind, rows, &t);
    }
}

static inline void pl_depthwise_dsp_s8(const pl_depthwise_dsp_t *d,
                                       const int8_t *x,  // (n, ih, iw, ic)
                                       const int32_t *w, // (ic, 8)
                                       int8_t *y,        // (n, oh, ow, ic)
                                       void *scratch)    // the patch
{
    const pl_conv_s8_t *s = &d->s;
    const int32_t in_rows = (d->rows == 2) ? pl_signed(pl_unsigned(s->oh + 1) >> 1) : s->oh;
    for (int32_t i = 0; i < s->n; i++) {
        for (int32_t j = 0; j < in_rows; j++) {
            for (int32_t k = 0; k < s->in_row; k++) {
                pl_group_s8_t g;
                pl_group_s8(s, i, j, k, &g);
                g.row = ((s->reverse != 0) ? (in_rows - 1 - j) : j) * d->rows;
                pl_depthwise_group_s8(d, &g, ((s->oh - g.row) < d->rows) ? 1 : d->rows,
                                      x + (g.image * s->ih * s->iw * s->ic), w, y + (g.image * s->oh * s->ow * s->ic),
                                      (int32_t *)scratch);
            }
        }
    }
}

#endif
