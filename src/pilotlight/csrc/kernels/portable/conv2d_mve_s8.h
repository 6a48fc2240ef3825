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
    int32_t pixels;        // of a row that are computed together, an even number
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

/* The patches of `count` pixels from `col` on, `depth` bytes apart. Those whose columns are all inside the input are copied
 * one kernel row, or tap, at a time. */
static inline void pl_patches_mve(const pl_conv2d_mve_t *s, const int8_t *x, int32_t top, pl_taps_mve_t rows,
                                  pl_taps_mve_t inside, int32_t col, int32_t count, int32_t group, int8_t *patch,
                                  int32_t depth)
{
    const int32_t merged = s->dw == 1 && s->groups == 1; // the columns of a kernel row are one run
    const int32_t bytes = merged ? s->kw * s->icg : s->icg, runs = merged ? 1 : s->kw;
    int32_t first = inside.first < col ? 0 : inside.first - col;
    int32_t end = inside.end < col + count ? inside.end - col : count;
    if (end <= first) {
        first = end = count;
    }
    for (int32_t p = 0; p < first; p++) {
        pl_patch_mve(s, x, top, rows, col + p, group, patch + p * depth);
    }
    for (int32_t p = end; p < count; p++) {
        pl_patch_mve(s, x, top, rows, col + p, group, patch + p * depth);
    }
    if (end == first) {
        return;
    }
    patch += first * depth;
    if (rows.end - rows.first < s->kh) {
        pl_fill_mve(patch, (end - first) * depth, s->zx);
    }
    for (int32_t r = rows.first; r < rows.end; r++) {
        const int8_t *from =
            x + ((top + r * s->dh) * s->iw + (col + first) * s->sw - s->pl) * s->ic + group * s->icg;
        int8_t *to = patch + r * s->kw * s->icg;
        for (int32_t c = 0; c < runs; c++) {
            pl_rows_mve(to, from, bytes, end - first, s->sw * s->ic, depth);
            from += s->dw * s->ic;
            to += s->icg;
        }
    }
}

/* A convolution, some pixels at a time: their input is copied to scratch first, so that the output may overwrite it. */
static inline void pl_conv2d_mve_s8(const pl_conv2d_mve_t *s,
                                    const int8_t *x,     // (n, ih, iw, ic)
                                    const int8_t *w,     // (groups, blocks, depth / 16, 4, 16)
                                    const int32_t *bias, // (groups, blocks, 2, 4)
                                    int8_t *y,           // (n, oh, ow, oc)
                                    void *scratch)       // (pixels, depth)
{
    int8_t *patches = (int8_t *)scratch;
    const int32_t depth = (s->kh * s->kw * s->icg + 15) & ~15;
    const int32_t blocks = (s->ocg + 3) >> 2;
    const int32_t any = depth == 16; // the block takes any number of pixels
    pl_dot_mve_t a;
    a.depth = depth;
    a.last = s->ocg - (blocks - 1) * 4;
    a.pairs = depth >> 5;
    a.step = any ? s->oc : 2 * s->oc - (blocks - 1) * 4;
    a.q.zy = s->q.zy; // one by one: a copy of the whole may become a call of memcpy
    a.q.shift = s->q.shift;
    a.q.lo = s->q.lo;
    a.q.hi = s->q.hi;
    pl_taps_mve_t inside = {0, s->ow}; // pixels of a row whose columns are all inside the input
    while (inside.first < s->ow && inside.first * s->sw < s->pl) {
        inside.first++;
    }
    while (inside.end > inside.first && (inside.end - 1) * s->sw - s->pl + (s->kw - 1) * s->dw >= s->iw) {
        inside.end--;
    }
    int32_t last = 0; // where the last group of a row starts
    while (last + s->pixels < s->ow) {
        last += s->pixels;
    }
    int32_t image = s->reverse ? s->n - 1 : 0, row = s->reverse ? s->oh - 1 : 0;
    for (int32_t i = 0; i < s->n * s->oh; i++) {
        const int32_t top = row * s->sh - s->pt;
        const int8_t *from = x + image * s->ih * s->iw * s->ic;
        const pl_taps_mve_t rows = pl_clip_mve(top, s->kh, s->dh, s->ih);
        for (int32_t done = 0; done <= last; done += s->pixels) {
            const int32_t col = s->reverse ? last - done : done;
            const int32_t count = s->ow - col < s->pixels ? s->ow - col : s->pixels;
            int8_t *to = y + ((image * s->oh + row) * s->ow + col) * s->oc;
            a.w = w;
            a.bias = bias;
            for (int32_t g = 0; g < s->groups; g++) {
                pl_patches_mve(s, from, top, rows, inside, col, count, g, patches, depth);
                a.x0 = patches;
                a.x1 = patches + depth;
                a.y0 = to + g * s->ocg;
                a.y1 = a.y0 + s->oc;
                a.end = a.bias + blocks * 8;
                a.pixels = any ? count : count & ~1;
                if (a.pixels > 0) {
                    pl_dot_mve(&a, s->kind);
                }
                if (!any && (count & 1)) {
                    a.x0 = patches + (count - 1) * depth;
                    a.y0 = to + g * s->ocg + (count - 1) * s->oc;
                    pl_dot_one_mve(&a, s->kind);
                }
                a.w += blocks * depth * 4;
                a.bias = a.end;
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
