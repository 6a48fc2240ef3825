#ifndef PL_CHANNELS_S8_H
#define PL_CHANNELS_S8_H

#include <stdbool.h>
#include <stdint.h>

#include "patch_s8.h"

static inline int8_t *pl_fill_s8(int8_t *to_start, int32_t bytes, int32_t value)
{
    int8_t *to = to_start;
    for (int32_t left = bytes; left > 0; left--) {
        PL_BARRIER(to);
        *to = (int8_t)value;
        to++;
    }
    return to;
}

/* Copies some rows of what a group of pixels sees, all channels. */
static inline void pl_gather_rows_s8(const pl_conv_s8_t *s, const pl_group_s8_t *g, int32_t rows,
                                     const int8_t *x,     // (ih, iw, ic)
                                     int8_t *patch_start) // (rows, columns, ic)
{
    int8_t *patch = patch_start;
    const int32_t columns = ((g->pixels - 1) * s->sw) + ((s->kw - 1) * s->dw) + 1;
    const int32_t at = (g->col * s->sw) - s->left;
    const int32_t before = (at < 0) ? (((at + columns) < 0) ? columns : -at) : 0;
    const int32_t end = ((at + columns) < s->iw) ? (at + columns) : s->iw;
    const int32_t inside = ((at + before) < end) ? (end - at - before) : 0;
    int32_t row = (g->row * s->sh) - s->top;
    for (int32_t r = 0; r < rows; r++) {
        if ((row >= 0) && (row < s->ih) && (inside > 0)) {
            patch = pl_fill_s8(patch, before * s->ic, s->zx);
            pl_copy(patch, x + (((row * s->iw) + at + before) * s->ic), inside * s->ic);
            patch = pl_fill_s8(patch + (inside * s->ic), (columns - before - inside) * s->ic, s->zx);
        } else {
            patch = pl_fill_s8(patch, columns * s->ic, s->zx);
        }
        row += s->dh;
    }
}

/* Copies what a group of pixels sees of all channels. */
static inline void pl_gather_channels_s8(const pl_conv_s8_t *s, const pl_group_s8_t *g,
                                         const int8_t *x, // (ih, iw, ic)
                                         int8_t *patch)   // (kh, columns, ic)
{
    pl_gather_rows_s8(s, g, s->kh, x, patch);
}

#endif
