#ifndef PL_PATCH_S8_H
#define PL_PATCH_S8_H

#include <stdbool.h>
#include <stdint.h>

#include "mem.h"
#include "requantize.h"

/* An int8 convolution. Output pixels of a row are computed in groups; what a group sees is first copied into a patch
 * in scratch memory, padded positions holding the zero point: (columns, kh, icg), so that the window of one pixel is a
 * single run of kw * kh * icg values and the next pixel's starts `step` columns on. */
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
    int32_t groups;  // of channels
    int32_t icg;     // channels that a filter sees
    int32_t ocg;     // filters in a group
    int32_t pixels;  // of an output row in one patch
    int32_t in_row;  // patches in an output row
    int32_t step;    // columns from a pixel's window to the next: sw where windows share columns, else kw
    int32_t reverse; // 1: from the last pixel to the first
    int32_t zx;      // what padded positions hold
    pl_requantize_t q;
} pl_conv_s8_t;

/* A group of pixels: its image, row, first column and how many. */
typedef struct {
    int32_t image;
    int32_t row;
    int32_t col;
    int32_t pixels;
} pl_group_s8_t;

/* The groups of an output row start at multiples of `pixels`, walked in either direction. */
static inline void pl_group_s8(const pl_conv_s8_t *s, int32_t i, int32_t j, int32_t k, pl_group_s8_t *g)
{
    g->image = (s->reverse != 0) ? (s->n - 1 - i) : i;
    g->row = (s->reverse != 0) ? (s->oh - 1 - j) : j;
    g->col = ((s->reverse != 0) ? (s->in_row - 1 - k) : k) * s->pixels;
    g->pixels = ((s->ow - g->col) < s->pixels) ? (s->ow - g->col) : s->pixels;
}

/* A run of columns that are gathered alike: `count` of them, the first at input column `at`. */
typedef struct {
    int32_t runs; // runs: 1, or one per pixel
    int32_t count;
    int32_t at;           // input column of the first
    int32_t at_run;       // from one run to the next
    int32_t step;         // input columns from one to the next
    int32_t each_a_pixel; // 1: each column is a window of its own
} pl_run_s8_t;

/* Windows that share columns are one run, and so are windows of one column; others are a run each. */
static inline void pl_runs_s8(const pl_conv_s8_t *s, const pl_group_s8_t *g, pl_run_s8_t *t)
{
    const bool alone = (s->kw != 1) && (s->step == s->kw);
    t->runs = alone ? g->pixels : 1;
    t->count = (s->kw == 1) ? g->pixels : alone ? s->kw : (((g->pixels - 1) * s->step) + s->kw);
    t->at = (g->col * s->sw) - s->left;
    t->at_run = s->sw;
    t->step = (s->kw == 1) ? s->sw : alone ? s->dw : 1;
    t->each_a_pixel = (s->kw == 1) ? 1 : 0;
}

#endif
