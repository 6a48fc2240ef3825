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

/* What of a patch is inside the input: kernel rows and columns, for some pixels. */
typedef struct {
    pl_taps_mve_t rows, cols;
    int32_t first, pixels;
} pl_part_mve_t;

/* Copies a part of the patches, (pixels, kh, kw, icg) with `depth` bytes a pixel. x is the input at the first tap of the
 * first patch, inside or outside. A kernel row is one run where its columns are neighbours. */
static inline void pl_part_mve(const pl_conv2d_mve_t *s, const int8_t *x, const pl_part_mve_t *part, int8_t *patches,
                               int32_t depth)
{
    const int32_t merged = s->dw == 1 && s->groups == 1;
    const int32_t width = part->cols.end - part->cols.first;
    const int32_t tap = part->rows.first * s->kw + part->cols.first;
    pl_rows_mve_t a;
    a.x = x + (part->rows.first * s->dh * s->iw + part->cols.first * s->dw + part->first * s->sw) * s->ic;
    a.y = patches + part->first * depth + tap * s->icg;
    a.bytes = merged ? width * s->icg : s->icg;
    a.pixels = part->pixels;
    a.x_pixel = s->sw * s->ic;
    a.y_pixel = depth;
    a.rows = part->rows.end - part->rows.first;
    a.x_row = s->dh * s->iw * s->ic;
    a.y_row = s->kw * s->icg;
    for (int32_t runs = merged ? 1 : width; runs > 0; runs--) {
        pl_rows_mve(&a);
        a.x += s->dw * s->ic;
        a.y += s->icg;
    }
}

/* The patches of `count` pixels from `col` on, zx where they reach outside. x is the input at (top, col * sw - pl). Pixels
 * from inside.first to inside.end have all their columns inside the input. */
static inline void pl_patches_mve(const pl_conv2d_mve_t *s, const int8_t *x, pl_taps_mve_t rows, pl_taps_mve_t inside,
                                  int32_t col, int32_t count, int8_t *patches, int32_t depth)
{
    pl_part_mve_t part;
    part.rows.first = rows.first; // one by one: a copy of the whole may become a call of memcpy
    part.rows.end = rows.end;
    part.cols.first = 0;
    part.cols.end = s->kw;
    part.first = 0;
    part.pixels = count;
    if (rows.end - rows.first < s->kh || col < inside.first || col + count > inside.end) {
        pl_fill_mve(patches, count * depth, s->zx);
        if (rows.end <= rows.first) {
            return;
        }
        while (part.first < count) {
            const int32_t at = col + part.first;
            part.pixels = 1;
            if (at >= inside.first && at < inside.end) {
                part.pixels = (inside.end < col + count ? inside.end - col : count) - part.first;
            }
            const pl_taps_mve_t cols = pl_clip_mve(at * s->sw - s->pl, s->kw, s->dw, s->iw);
            part.cols.first = cols.first;
            part.cols.end = cols.end;
            if (cols.end > cols.first) {
                pl_part_mve(s, x, &part, patches, depth);
            }
            part.first += part.pixels;
        }
        return;
    }
    pl_part_mve(s, x, &part, patches, depth);
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
    a.q.zy = s->q.zy;
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
        const int8_t *from = x + (image * s->ih + top) * s->iw * s->ic;
        const pl_taps_mve_t rows = pl_clip_mve(top, s->kh, s->dh, s->ih);
        for (int32_t done = 0; done <= last; done += s->pixels) {
            const int32_t col = s->reverse ? last - done : done;
            const int32_t count = s->ow - col < s->pixels ? s->ow - col : s->pixels;
            int8_t *to = y + ((image * s->oh + row) * s->ow + col) * s->oc;
            a.w = w;
            a.bias = bias;
            for (int32_t g = 0; g < s->groups; g++) {
                pl_patches_mve(s, from + (col * s->sw - s->pl) * s->ic + g * s->icg, rows, inside, col, count, patches,
                               depth);
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
