#ifndef PL_CONV_DSP_S8_H
#define PL_CONV_DSP_S8_H

#include <stddef.h>
#include <stdint.h>

#include "dsp_s8.h"
#include "integer.h"
#include "patch_s8.h"

/* A convolution over a patch of 16-bit numbers, (columns, column): a column is kh * icg values and may be padded. */
typedef struct {
    pl_conv_s8_t s;
    int32_t kind;       // PL_CONV_*: which blocks
    int32_t fours;      // how many of the channels are widened by four, which changes their order
    int32_t column;     // values from one column of the patch to the next
    int32_t stride;     // values from one pixel's window to the next
    int32_t steps;      // of four taps in a window
    int32_t pair_words; // in the stream of a pair of filters
} pl_conv_dsp_t;

/* Calls the block of `pixels` pixels; written for each model. */
static inline void pl_conv_block_s8(int32_t kind, int32_t pixels, const pl_dsp_conv_t *t);
/* Widens a multiple of four inputs; written for each model. */
static inline void pl_widen_s8(const int8_t *x, int16_t *y, int32_t n);

/* One kernel row of a run of columns; row is null outside the image. Columns go into the patch `column` apart. */
static inline void pl_gather_row_s16(const pl_conv_dsp_t *d, const pl_run_s8_t *t, int32_t at_start, const int8_t *row,
                                     int16_t *to_start, int32_t column)
{
    int32_t at = at_start;
    int16_t *to = to_start;
    const pl_conv_s8_t *s = &d->s;
    const int32_t channels = s->icg;
    const int32_t step = t->step;
    const int32_t next = step * s->ic;
    const int32_t last = at + ((t->count - 1) * step); // input column
    const int32_t end = (row != NULL) ? ((last < s->iw) ? (last + 1) : s->iw) : at;
    const int32_t fours = d->fours;
    const int16_t zx = (int16_t)s->zx;
    for (; (at < 0) && (at <= last); at += step) {
        for (int32_t k = 0; k < channels; k++) {
            to[k] = zx;
        }
        to = &to[column];
    }
    const int8_t *from = (at < end) ? (row + (at * s->ic)) : NULL;
    if ((fours == channels) && (column == channels) && (next == channels) && (at < end)) { // pixels side by side
        pl_widen_s8(from, to, (end - at) * channels);
        to = &to[(end - at) * channels];
        at = end;
    } else if (fours == channels) {
        for (; at < end; at += step) {
            pl_widen_s8(from, to, channels);
            to = &to[column];
            from = &from[next];
        }
    } else if (fours > 0) {
        for (; at < end; at += step) {
            pl_widen_s8(from, to, fours);
            for (int32_t k = fours; k < channels; k++) {
                to[k] = from[k];
            }
            to = &to[column];
            from = &from[next];
        }
    } else if (channels == 3) {
        for (; at < end; at += step) {
            to[0] = from[0];
            to[1] = from[1];
            to[2] = from[2];
            to = &to[column];
            from = &from[next];
        }
    } else {
        for (; at < end; at += step) {
            for (int32_t k = 0; k < channels; k++) {
                to[k] = from[k];
            }
            to = &to[column];
            from = &from[next];
        }
    }
    for (; at <= last; at += step) {
        for (int32_t k = 0; k < channels; k++) {
            to[k] = zx;
        }
        to = &to[column];
    }
}

/* Copies what a group of pixels sees of one group of channels; x is the image, at the first of those channels. */
static inline void pl_gather_s16(const pl_conv_dsp_t *d, const pl_group_s8_t *g,
                                 const int8_t *x,      // (ih, iw, ic)
                                 int16_t *patch_start) // (columns, column), or (pixels, stride)
{
    int16_t *patch = patch_start;
    const pl_conv_s8_t *s = &d->s;
    pl_run_s8_t t;
    pl_runs_s8(s, g, &t);
    const int32_t column = (t.each_a_pixel != 0) ? d->stride : d->column;
    for (int32_t i = 0; i < t.runs; i++) {
        int32_t row = (g->row * s->sh) - s->top;
        for (int32_t r = 0; r < s->kh; r++) {
            const int8_t *from = ((row >= 0) && (row < s->ih)) ? (x + (row * s->iw * s->ic)) : NULL;
            pl_gather_row_s16(d, &t, t.at + (i * t.at_run), from, patch + (r * s->icg), column);
            row += s->dh;
        }
        patch = &patch[d->stride];
    }
}

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
