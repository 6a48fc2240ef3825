#ifndef PL_CONV2D_F32_H
#define PL_CONV2D_F32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filters_f32.h"
#include "integer.h"

typedef struct {
    int32_t n; // input (n, ih, iw, ic)
    int32_t ih;
    int32_t iw;
    int32_t ic;
    int32_t oh; // output (n, oh, ow, oc)
    int32_t ow;
    int32_t oc;
    int32_t kh; // kernel
    int32_t kw;
    int32_t sh; // stride
    int32_t sw;
    int32_t top; // padding above and to the left; below and to the right it follows from oh and ow
    int32_t left;
    int32_t dh; // dilation
    int32_t dw;
    int32_t groups; // of channels; 1 when depthwise
    int32_t icg;    // channels that a filter sees, filters in a group
    int32_t ocg;
    int32_t depthwise; // 1: filter c sees channel c only
    int32_t reverse;   // 1: from the last pixel to the first
    int32_t act;       // PL_ACT_*
    float lo;          // limits of outputs
    float hi;
} pl_conv2d_t;

/* From `first` up to, not including, `end`. */
typedef struct {
    int32_t first;
    int32_t end;
} pl_range_t;

/* The taps of a kernel that fall inside 0..size when tap 0 is at `at`. */
static inline pl_range_t pl_clip_taps(int32_t at, int32_t taps, int32_t dilation, int32_t size)
{
    pl_range_t t = {0, taps};
    while ((t.first < taps) && ((at + (t.first * dilation)) < 0)) {
        t.first++;
    }
    while ((t.end > t.first) && ((at + ((t.end - 1) * dilation)) >= size)) {
        t.end--;
    }
    return t;
}

/* The pixels of an output row whose kernel columns are all inside the input. */
static inline pl_range_t pl_inside(const pl_conv2d_t *s)
{
    pl_range_t t = {0, s->ow};
    while ((t.first < s->ow) && ((t.first * s->sw) < s->left)) {
        t.first++;
    }
    while ((t.end > t.first) && ((((t.end - 1) * s->sw) - s->left + ((s->kw - 1) * s->dw)) >= s->iw)) {
        t.end--;
    }
    return t;
}

/* One row of output from the kernel rows in `rows`: pixels in pairs where all columns are inside the input, one by one
 * elsewhere. x is the input row of the first kernel row, or any pointer when there is none. */
static inline void pl_conv2d_row_f32(const pl_conv2d_t *s, pl_range_t rows, pl_range_t inside,
                                     const float *x, // (rows, iw, ic)
                                     const float *w, const float *bias,
                                     float *y) // (ow, oc)
{
    const bool whole = (s->icg == s->ic) && (s->dw == 1); // the columns of a kernel row are one run
    const int32_t k = s->kh * s->kw * s->icg;
    pl_mac_t a;
    a.x_pixel = (s->reverse != 0) ? (-s->sw * s->ic) : (s->sw * s->ic);
    a.y_pixel = (s->reverse != 0) ? -s->oc : s->oc;
    a.relu = ((s->act == PL_ACT_RELU) || (s->act == PL_ACT_LIMIT)) ? 1 : 0;
    int32_t step = 1;
    for (int32_t done = 0; done < s->ow; done += step) {
        const int32_t col = (s->reverse != 0) ? (s->ow - 1 - done) : done;
        const int32_t ahead = (s->reverse != 0) ? (col + 1 - inside.first) : (inside.end - col);
        const int32_t free = ((col >= inside.first) && (col < inside.end)) ? ahead : 0;
        const int32_t pixels = (free >= 2) ? 2 : 1;
        const int32_t at = (col * s->sw) - s->left;
        const pl_range_t taps = pl_clip_taps(at, s->kw, s->dw, s->iw);
        const int32_t cols = taps.end - taps.first;
        a.rows = (cols > 0) ? (rows.end - rows.first) : 0;
        a.cols = whole ? 1 : cols;
        a.len = whole ? (cols * s->icg) : s->icg;
        a.x_col = (s->dw * s->ic) - ((s->depthwise != 0) ? 0 : a.len);
        a.x_row = (((s->dh * s->iw) - (a.cols * s->dw)) * s->ic) + ((s->depthwise != 0) ? 0 : a.x_col);
        a.w_row = (s->kw - cols) * s->icg;
        a.w_block = (s->kh - a.rows) * s->kw * s->icg;
        a.groups = ((free >= 2) && (s->groups == 1) && pl_one_size(s->ocg)) ? pl_shr(free, 1) : 1;
        step = a.groups * pixels;
        const int32_t skip = (a.rows > 0) ? (((rows.first * s->kw) + taps.first) * s->icg) : 0;
        const float *from = (a.rows > 0) ? (x + ((at + (taps.first * s->dw)) * s->ic)) : x;
        for (int32_t g = 0; g < s->groups; g++) {
            const int32_t f = g * s->ocg;
            pl_mac_filters_f32(&a, s->depthwise, pixels, s->ocg, from + (g * s->icg), w + (f * k), k, skip,
                               (bias != NULL) ? (bias + f) : NULL, y + (col * s->oc) + f);
        }
    }
}

/* A convolution. w is packed in blocks of F = 8, 4, 2 or 1 filters, (block, kh, kw, icg, F); bias (oc) may be null.
 * Pixels are the outer loop, filters the inner, so that y may overlap x by a distance known beforehand: y below x
 * forward, y above x in reverse. */
static inline void pl_conv2d_f32(const pl_conv2d_t *s,
                                 const float *x, // (n, ih, iw, ic)
                                 const float *w, const float *bias,
                                 float *y) // (n, oh, ow, oc)
{
    const pl_range_t inside = pl_inside(s);
    for (int32_t i = 0; i < s->n; i++) {
        const int32_t image = (s->reverse != 0) ? (s->n - 1 - i) : i;
        for (int32_t j = 0; j < s->oh; j++) {
            const int32_t row = (s->reverse != 0) ? (s->oh - 1 - j) : j;
            const int32_t top = (row * s->sh) - s->top;
            const pl_range_t rows = pl_clip_taps(top, s->kh, s->dh, s->ih);
            const int32_t first = (rows.end > rows.first) ? ((image * s->ih) + top + (rows.first * s->dh)) : 0;
            pl_conv2d_row_f32(s, rows, inside, x + (first * s->iw * s->ic), w, bias,
                              y + (((image * s->oh) + row) * s->ow * s->oc));
        }
    }
    pl_limit_f32(s->act, s->lo, s->hi, y, s->n * s->oh * s->ow * s->oc);
}

#endif
