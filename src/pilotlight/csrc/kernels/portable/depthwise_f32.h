#ifndef PL_DEPTHWISE_F32_H
#define PL_DEPTHWISE_F32_H

#include <stdint.h>

#include "mac_f32.h"
#include "window_f32.h"

/* Calls the block of `pixels` pixels by `channels` channels; written for each model. */
static inline void pl_dw_f32(const pl_mac_t *a, int32_t pixels, int32_t channels);

/* All channels of a->groups groups of `pixels` pixels, as pl_mac_filters_f32 does for filters. */
static inline void pl_dw_channels_f32(pl_mac_t *a, int32_t pixels, int32_t channels, const float *x, const float *w,
                                      int32_t k, int32_t skip, const float *bias, float *y)
{
    int32_t done = 0;
    for (uint32_t log2 = 3; done < channels; log2--) {
        const int32_t size = (int32_t)(1u << log2);
        a->blocks = (int32_t)((uint32_t)(channels - done) >> log2);
        if (a->blocks > 0) {
            a->x = x + done;
            a->w = w + done * k + skip * size;
            a->bias = bias ? bias + done : 0;
            a->y = y + done;
            pl_dw_f32(a, pixels, size);
            done += a->blocks * size;
        }
    }
}

/* One row of output: x is the first of the input rows in `rows`, or anything when there are none. */
static inline void pl_depthwise_row_f32(const pl_conv2d_t *s, pl_range_t rows, pl_range_t inside,
                                        const float *x, // (rows, iw, ic)
                                        const float *w, const float *bias,
                                        float *y) // (ow, ic)
{
    const int32_t one_size = (s->ic & 7) == 0 || s->ic == 4 || s->ic == 2;
    const int32_t k = s->kh * s->kw;
    pl_mac_t a;
    a.len = 1;
    a.x_col = s->dw * s->ic;
    a.x_pixel = s->sw * s->ic;
    a.y_pixel = s->ic;
    a.relu = s->act == PL_ACT_RELU;
    int32_t step = 1;
    for (int32_t col = 0; col < s->ow; col += step) {
        const int32_t free = col >= inside.first && col < inside.end ? inside.end - col : 0;
        const int32_t pixels = free >= 2 ? 2 : 1;
        const int32_t at = col * s->sw - s->pl;
        const pl_range_t taps = pl_clip_taps(at, s->kw, s->dw, s->iw);
        a.cols = taps.end - taps.first;
        a.rows = a.cols > 0 ? rows.end - rows.first : 0;
        a.x_row = (s->dh * s->iw - a.cols * s->dw) * s->ic;
        a.w_row = s->kw - a.cols;
        a.w_block = (s->kh - a.rows) * s->kw;
        a.groups = free >= 2 && one_size ? free >> 1 : 1;
        step = a.groups * pixels;
        const int32_t skip = a.rows > 0 ? rows.first * s->kw + taps.first : 0;
        const float *from = a.rows > 0 ? x + (at + taps.first * s->dw) * s->ic : x;
        pl_dw_channels_f32(&a, pixels, s->ic, from, w, k, skip, bias, y + col * s->ic);
    }
}

/* A convolution with one filter for each channel (groups == ic == oc). w is packed in blocks of F = 8, 4, 2 or 1
 * channels, (block, kh, kw, F); bias (ic) may be null. Walks pixels outside and channels inside. */
static inline void pl_depthwise_f32(const pl_conv2d_t *s,
                                    const float *x, // (n, ih, iw, ic)
                                    const float *w, const float *bias,
                                    float *y) // (n, oh, ow, ic)
{
    const pl_range_t inside = pl_inside(s);
    for (int32_t image = 0; image < s->n; image++) {
        for (int32_t row = 0; row < s->oh; row++) {
            const int32_t top = row * s->sh - s->pt;
            const pl_range_t rows = pl_clip_taps(top, s->kh, s->dh, s->ih);
            const int32_t first = rows.end > rows.first ? image * s->ih + top + rows.first * s->dh : 0;
            pl_depthwise_row_f32(s, rows, inside, x + first * s->iw * s->ic, w, bias,
                                 y + (image * s->oh + row) * s->ow * s->ic);
        }
    }
    if (s->act == PL_ACT_CLAMP) {
        pl_clamp_f32(y, s->n * s->oh * s->ow * s->ic, s->lo, s->hi);
    }
}

#endif
