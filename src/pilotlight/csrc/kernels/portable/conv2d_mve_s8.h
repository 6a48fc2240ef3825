#ifndef PL_CONV2D_MVE_S8_H
#define PL_CONV2D_MVE_S8_H

#include <stdint.h>

#include "blocks_mve_s8.h"

typedef struct {
    int32_t n, ih, iw, ic; // input (n, ih, iw, ic)
    int32_t oh, ow, oc;    // output (n, oh, ow, oc)
    int32_t kh, kw;        // kernel
    int32_t sh, sw;        // stride
    int32_t pt, pl;        // padding above and to the left
    int32_t dh, dw;        // dilation
    int32_t groups;        // of channels
    int32_t icg, ocg;      // channels that a filter sees, filters in a group
    int32_t reverse;       // 1: from the last pixel to the first
    int32_t kind;          // of the blocks
    int32_t zx;            // what padded positions hold
    pl_requantize_t q;
} pl_conv2d_mve_t;

/* The input of one pixel and one group of channels, as one run: (kh, kw, ic / groups), zx where it is padding. x is the
 * input image; top is the row of the first tap. */
static inline void pl_patch_mve(const pl_conv2d_mve_t *s, const int8_t *x, int32_t top, pl_taps_mve_t rows,
                                int32_t col, int32_t group, int8_t *patch)
{
    const int32_t icg = s->icg;
    const int32_t left = col * s->sw - s->pl;
    const pl_taps_mve_t cols = pl_clip_mve(left, s->kw, s->dw, s->iw);
    const int32_t height = rows.end - rows.first, width = cols.end - cols.first;
    if (height < s->kh || width < s->kw) {
        pl_fill_mve(patch, s->kh * s->kw * icg, s->zx);
        if (height <= 0 || width <= 0) {
            return;
        }
    }
    const int8_t *from = x + ((top + rows.first * s->dh) * s->iw + left + cols.first * s->dw) * s->ic + group * icg;
    int8_t *to = patch + (rows.first * s->kw + cols.first) * icg;
    if (s->dw == 1 && s->groups == 1) {
        pl_rows_mve(to, from, width * icg, height, s->dh * s->iw * s->ic, s->kw * icg);
        return;
    }
    for (int32_t r = 0; r < height; r++) {
        pl_rows_mve(to, from, icg, width, s->dw * s->ic, icg);
        from += s->dh * s->iw * s->ic;
        to += s->kw * icg;
    }
}

/* A convolution, two pixels at a time: their input is copied to scratch first, so that the output may overwrite it. */
static inline void pl_conv2d_mve_s8(const pl_conv2d_mve_t *s,
                                    const int8_t *x, // (n, ih, iw, ic)
                                    const int8_t *w, // (groups, blocks, depth / 16, 4, 16)
                                    const int32_t *bias, // (groups, blocks, 2, 4)
                                    int8_t *y,           // (n, oh, ow, oc)
                                    int8_t *scratch)     // (2, depth)
{
    const int32_t icg = s->icg, ocg = s->ocg;
    const int32_t depth = (s->kh * s->kw * icg + 15) & ~15;
    const int32_t blocks = (ocg + 3) >> 2;
    const int32_t point = s->kh * s->kw == 1 && s->pt + s->pl == 0 && (s->oh - 1) * s->sh < s->ih &&
                          (s->ow - 1) * s->sw < s->iw; // a window is one pixel inside the input
    pl_dot_mve_t a;
    a.x0 = scratch;
    a.x1 = scratch + depth;
    a.depth = depth;
    a.q.zy = s->q.zy; // one by one: a copy of the whole may become a call of memcpy
    a.q.shift = s->q.shift;
    a.q.lo = s->q.lo;
    a.q.hi = s->q.hi;
    a.last = ocg - (blocks - 1) * 4;
    a.pairs = depth >> 5;
    int32_t image = s->reverse ? s->n - 1 : 0, row = s->reverse ? s->oh - 1 : 0;
    for (int32_t i = 0; i < s->n * s->oh; i++) {
        const int32_t line = image * s->oh + row;
        const int32_t top = row * s->sh - s->pt;
        const int8_t *from = x + image * s->ih * s->iw * s->ic;
        const pl_taps_mve_t rows = pl_clip_mve(top, s->kh, s->dh, s->ih);
        const int32_t end = (s->ow - 1) & ~1; // where the last pair, or the odd pixel, starts
        for (int32_t done = 0; done <= end; done += 2) {
            const int32_t col = s->reverse ? end - done : done;
            const int32_t pixels = s->ow - col >= 2 ? 2 : 1;
            int8_t *to = y + (line * s->ow + col) * s->oc;
            for (int32_t g = 0; g < s->groups; g++) {
                if (point) {
                    pl_rows_mve(scratch, from + (top * s->iw + col * s->sw) * s->ic + g * icg, icg, pixels,
                                s->sw * s->ic, depth);
                } else {
                    pl_patch_mve(s, from, top, rows, col, g, scratch);
                    if (pixels == 2) {
                        pl_patch_mve(s, from, top, rows, col + 1, g, scratch + depth);
                    }
                }
                a.w = w + g * blocks * depth * 4;
                a.bias = bias + g * blocks * 8;
                a.end = a.bias + blocks * 8;
                a.y0 = to + g * ocg;
                a.y1 = a.y0 + s->oc;
                pl_dot_mve(&a, pixels, s->kind);
            }
        }
        row += s->reverse ? -1 : 1;
        if (row < 0 || row == s->oh) {
            image += s->reverse ? -1 : 1;
            row = s->reverse ? s->oh - 1 : 0;
        }
    }
}

#endif
