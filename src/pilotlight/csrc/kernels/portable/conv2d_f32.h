#ifndef PL_CONV2D_F32_H
#define PL_CONV2D_F32_H

#include <stdint.h>

#include "mac_f32.h"
#include "window_f32.h"

/* Calls the block of `pixels` pixels by `filters` filters; written for each model. */
static inline void pl_mac_f32(const pl_mac_t *a, int32_t pixels, int32_t filters);

/* All filters of a->groups groups of `pixels` pixels, in blocks of 8, then 4, 2 and 1; a->groups must be 1 when more
 * than one size of block is needed. w holds k weights a filter, of which the first `skip` lie outside the input. */
static inline void pl_mac_filters_f32(pl_mac_t *a, int32_t pixels, int32_t filters, const float *w, int32_t k,
                                      int32_t skip, const float *bias, float *y)
{
    int32_t done = 0;
    for (uint32_t log2 = 3; done < filters; log2--) {
        const int32_t size = (int32_t)(1u << log2);
        a->blocks = (int32_t)((uint32_t)(filters - done) >> log2);
        if (a->blocks > 0) {
            a->w = w + done * k + skip * size;
            a->bias = bias ? bias + done : 0;
            a->y = y + done;
            pl_mac_f32(a, pixels, size);
            done += a->blocks * size;
        }
    }
}

/* One size of block serves this many filters. */
static inline int32_t pl_one_size(int32_t filters)
{
    return (filters & 7) == 0 || filters == 4 || filters == 2 || filters == 1;
}

/* One row of output: x is the first of the input rows in `rows`, or anything when there are none. */
static inline void pl_conv2d_row_f32(const pl_conv2d_t *s, pl_range_t rows, pl_range_t inside,
                                     const float *x, // (rows, iw, ic)
                                     const float *w, const float *bias,
                                     float *y) // (ow, oc)
{
    const int32_t whole = s->groups == 1 && s->dw == 1; // the columns of a kernel row are one run
    const int32_t k = s->kh * s->kw * s->icg;
    pl_mac_t a;
    a.x_pixel = s->sw * s->ic;
    a.y_pixel = s->oc;
    a.relu = s->act == PL_ACT_RELU;
    int32_t step = 1;
    for (int32_t col = 0; col < s->ow; col += step) {
        const int32_t free = col >= inside.first && col < inside.end ? inside.end - col : 0;
        const int32_t pixels = free >= 2 ? 2 : 1;
        const int32_t at = col * s->sw - s->pl;
        const pl_range_t taps = pl_clip_taps(at, s->kw, s->dw, s->iw);
        const int32_t cols = taps.end - taps.first;
        a.rows = cols > 0 ? rows.end - rows.first : 0;
        a.cols = whole ? 1 : cols;
        a.len = whole ? cols * s->icg : s->icg;
        a.x_col = s->dw * s->ic - a.len;
        a.x_row = s->dh * s->iw * s->ic - (a.cols - 1) * s->dw * s->ic - a.len;
        a.w_row = (s->kw - cols) * s->icg;
        a.w_block = (s->kh - a.rows) * s->kw * s->icg;
        a.groups = free >= 2 && s->groups == 1 && pl_one_size(s->oc) ? free >> 1 : 1;
        step = a.groups * pixels;
        const int32_t skip = a.rows > 0 ? (rows.first * s->kw + taps.first) * s->icg : 0;
        const float *from = a.rows > 0 ? x + (at + taps.first * s->dw) * s->ic : x;
        for (int32_t g = 0; g < s->groups; g++) {
            a.x = from + g * s->icg;
            pl_mac_filters_f32(&a, pixels, s->ocg, w + g * s->ocg * k, k, skip, bias ? bias + g * s->ocg : 0,
                               y + col * s->oc + g * s->ocg);
        }
    }
}

/* A convolution. w is packed in blocks of F = 8, 4, 2 or 1 filters, (block, kh, kw, icg, F); bias (oc) may be null.
 * Walks pixels outside and filters inside, so that y may overlap the end of x by a distance known beforehand. */
static inline void pl_conv2d_f32(const pl_conv2d_t *s,
                                 const float *x, // (n, ih, iw, ic)
                                 const float *w, const float *bias,
                                 float *y) // (n, oh, ow, oc)
{
    const pl_range_t inside = pl_inside(s);
    for (int32_t image = 0; image < s->n; image++) {
        for (int32_t row = 0; row < s->oh; row++) {
            const int32_t top = row * s->sh - s->pt;
            const pl_range_t rows = pl_clip_taps(top, s->kh, s->dh, s->ih);
            const int32_t first = rows.end > rows.first ? image * s->ih + top + rows.first * s->dh : 0;
            pl_conv2d_row_f32(s, rows, inside, x + first * s->iw * s->ic, w, bias,
                              y + (image * s->oh + row) * s->ow * s->oc);
        }
    }
    if (s->act == PL_ACT_CLAMP) {
        pl_clamp_f32(y, s->n * s->oh * s->ow * s->oc, s->lo, s->hi);
    }
}

#endif
