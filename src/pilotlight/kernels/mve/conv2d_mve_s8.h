#ifndef PL_CONV2D_MVE_S8_H
#define PL_CONV2D_MVE_S8_H

#include <stdbool.h>
#include <stdint.h>

#include "blocks_mve_s8.h"
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
    int32_t top; // padding above and to the left
    int32_t left;
    int32_t dh; // dilation
    int32_t dw;
    int32_t groups; // of channels
    int32_t icg;    // channels that a filter sees, filters in a group
    int32_t ocg;
    int32_t columns; // 1: neighbouring pixels share columns of the scratch, (columns, kh, icg)
    int32_t merged;  // 1: the columns of a kernel row are one run of bytes
    int32_t first;   // pixels of a row from first up to end have all their columns inside the input
    int32_t end;
    int32_t depth;   // kh * kw * icg, rounded up to 16
    int32_t x_pixel; // bytes of scratch from a pixel to the next
    int32_t blocks;  // of four filters in a group
    int32_t pixels;  // of a row that are computed together, an even number
    int32_t last;    // where the last such group of a row starts
    int32_t reverse; // 1: from the last pixel to the first
    int32_t kind;    // of the blocks
    int32_t zx;      // what padded positions hold
    pl_requantize_t q;
} pl_conv2d_mve_t;

/* Copies the given kernel rows and columns of the patches of `count` pixels, (count, kh, kw, icg) with `depth` bytes
 * per pixel. The first tap of the first patch is at x[at], inside the input or outside. */
static inline void pl_part_mve(const pl_conv2d_mve_t *s, const int8_t *x, int32_t at, pl_taps_mve_t rows,
                               pl_taps_mve_t cols, int32_t count, int8_t *patches)
{
    const int32_t x_row = s->dh * s->iw * s->ic;
    const int32_t y_row = s->kw * s->icg;
    const int32_t width = cols.end - cols.first;
    pl_rows_mve_t a;
    a.bytes = (s->merged != 0) ? (width * s->icg) : s->icg;
    a.pixels = count;
    a.x_pixel = s->sw * s->ic;
    a.y_pixel = s->depth;
    a.rows = rows.end - rows.first;
    a.x_row = x_row;
    a.y_row = y_row;
    const int32_t end = (s->merged != 0) ? (cols.first + 1) : cols.end;
    for (int32_t c = cols.first; c < end; c++) {
        a.x = x + (at + (rows.first * x_row) + (c * s->dw * s->ic));
        a.y = patches + ((rows.first * y_row) + (c * s->icg));
        pl_rows_mve(&a);
    }
}

/* The patches of `count` pixels from `col` on, zx where they reach outside. The first tap of the first patch is at
 * x[from], inside the input or outside. */
static inline void pl_patches_mve(const pl_conv2d_mve_t *s, const int8_t *x, int32_t from, pl_taps_mve_t rows,
                                  int32_t col, int32_t count, int8_t *patches)
{
    if (((rows.end - rows.first) < s->kh) || (col < s->first) || ((col + count) > s->end)) {
        pl_fill_mve(patches, count * s->depth, s->zx);
    }
    int32_t done = (rows.end <= rows.first) ? count : 0; // nothing to copy where no row is inside
    while (done < count) {
        const int32_t at = col + done;
        int32_t run = 1;
        pl_taps_mve_t cols = {0, s->kw};
        if ((at >= s->first) && (at < s->end)) {
            run = ((s->end < (col + count)) ? (s->end - col) : count) - done;
        } else {
            cols = pl_clip_mve((at * s->sw) - s->left, s->kw, s->dw, s->iw);
        }
        if (cols.end > cols.first) {
            pl_part_mve(s, x, from + (done * s->sw * s->ic), rows, cols, run, patches + (done * s->depth));
        }
        done += run;
    }
}

/* The columns of `count` pixels from `col` on, zx where they reach outside; the first tap of the first pixel is at
 * x[from], inside the input or outside. */
static inline void pl_columns_mve(const pl_conv2d_mve_t *s, const int8_t *x, int32_t from, pl_taps_mve_t rows,
                                  int32_t col, int32_t count, int8_t *patches)
{
    const int32_t column = s->kh * s->icg;
    const int32_t width = ((count - 1) * s->sw) + s->kw;
    const int32_t left = (col * s->sw) - s->left;
    const int32_t first = (left < 0) ? -left : 0;
    const int32_t end = ((left + width) > s->iw) ? (s->iw - left) : width;
    if (((rows.end - rows.first) < s->kh) || (first > 0) || (end < width)) {
        pl_fill_mve(patches, width * column, s->zx);
    }
    if ((rows.end > rows.first) && (end > first)) {
        pl_rows_mve_t a;
        a.y = patches + ((first * column) + (rows.first * s->icg));
        a.x_row = s->dh * s->iw * s->ic;
        a.x = x + (from + (rows.first * a.x_row) + (first * s->ic));
        a.bytes = s->icg;
        a.pixels = end - first;
        a.x_pixel = s->ic;
        a.y_pixel = column;
        a.rows = rows.end - rows.first;
        a.y_row = s->icg;
        pl_rows_mve(&a);
    }
}

/* A convolution, some pixels at a time: their input is copied to scratch first, so that the output may overwrite it. */
static inline void
pl_conv2d_mve_s8(const pl_conv2d_mve_t *s,
                 const int8_t *x,     // (n, ih, iw, ic)
                 const int8_t *w,     // (groups, blocks, depth / 16, 4, 16), depth in the order of scratch
                 const int32_t *bias, // (groups, blocks, 2, 4)
                 int8_t *y,           // (n, oh, ow, oc)
                 void *scratch)       // (pixels, depth), or columns and the part of the depth beyond them
{
    int8_t *patches = (int8_t *)scratch;
    const bool any = s->depth == 16; // the block takes any number of pixels
    pl_dot_mve_t a;
    a.depth = s->depth;
    a.x_pixel = s->x_pixel;
    a.last = s->ocg - ((s->blocks - 1) * 4);
    a.pairs = pl_shr(s->depth, 5);
    a.step = any ? s->oc : ((2 * s->oc) - ((s->blocks - 1) * 4));
    a.q.zy = s->q.zy; // one by one: a copy of the whole may become a call of memcpy
    a.q.shift = s->q.shift;
    a.q.lo = s->q.lo;
    a.q.hi = s->q.hi;
    int32_t image = (s->reverse != 0) ? (s->n - 1) : 0;
    int32_t row = (s->reverse != 0) ? (s->oh - 1) : 0;
    for (int32_t i = 0; i < (s->n * s->oh); i++) {
        const int32_t top = (row * s->sh) - s->top;
        const pl_taps_mve_t rows = pl_clip_mve(top, s->kh, s->dh, s->ih);
        for (int32_t done = 0; done <= s->last; done += s->pixels) {
            const int32_t col = (s->reverse != 0) ? (s->last - done) : done;
            const int32_t count = ((s->ow - col) < s->pixels) ? (s->ow - col) : s->pixels;
            int32_t from = ((((image * s->ih) + top) * s->iw) + (col * s->sw) - s->left) * s->ic;
            int8_t *to = y + (((((image * s->oh) + row) * s->ow) + col) * s->oc);
            a.w = w;
            a.bias = bias;
            for (int32_t g = 0; g < s->groups; g++) {
                if (s->columns != 0) {
                    pl_columns_mve(s, x, from, rows, col, count, patches);
                } else {
                    pl_patches_mve(s, x, from, rows, col, count, patches);
                }
                a.x0 = patches;
                a.x1 = patches + s->x_pixel;
                a.y0 = to;
                a.y1 = to + s->oc;
                a.end = a.bias + (s->blocks * 8);
                a.pixels = any ? count : (count & ~1);
                if (a.pixels > 0) {
                    pl_dot_mve(&a, s->kind);
                }
                if (!any && ((count & 1) != 0)) {
                    a.x0 = patches + ((count - 1) * s->x_pixel);
                    a.y0 = to + ((count - 1) * s->oc);
                    pl_dot_one_mve(&a, s->kind);
                }
                a.w = &a.w[s->blocks * s->depth * 4];
                a.bias = a.end;
                from += s->icg;
                to = &to[s->ocg];
            }
        }
        row += (s->reverse != 0) ? -1 : 1;
        if ((row < 0) || (row == s->oh)) {
            image += (s->reverse != 0) ? -1 : 1;
            row = (s->reverse != 0) ? (s->oh - 1) : 0;
        }
    }
}

#endif
