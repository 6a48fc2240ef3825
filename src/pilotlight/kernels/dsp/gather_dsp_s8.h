#ifndef PL_GATHER_DSP_S8_H
#define PL_GATHER_DSP_S8_H

#include <stddef.h>
#include <stdint.h>

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

#endif
