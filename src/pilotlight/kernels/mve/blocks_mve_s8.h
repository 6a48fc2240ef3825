#ifndef PL_BLOCKS_MVE_S8_H
#define PL_BLOCKS_MVE_S8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "integer.h"
#include "mem.h"
#include "requantize.h"
#include "tflm.h"

/* The int8 blocks for cores with the M-profile vector extension (Helium).
 *
 * There the blocks of a model NAME are assembly functions NAME_dot_s8_..., NAME_dw_s8_..., NAME_rows_s8, NAME_fill_s8.
 * Elsewhere, and always with PILOTLIGHT_PORTABLE, they are the C below, over the same packing and with the same bits.
 * pl_dot_mve, pl_dw_mve, pl_rows_mve and pl_fill_mve, written for each model after this text, call the one or the
 * other. */
#if !defined(PILOTLIGHT_PORTABLE) && defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
#define PL_MVE_ASM 1
#else
#define PL_MVE_ASM 0
#endif

/* Four filters at a time, over one pixel, pairs of pixels or any number of them. A pixel is `depth` contiguous bytes: a
 * multiple of 16 for pairs, 16 for any number. The assembly knows this order of fields, and changes x0, x1, y0, y1 and
 * pixels. */
typedef struct {
    const int8_t *x0; // (depth), of the first two pixels
    const int8_t *x1;
    int8_t *y0; // (filters), of the first two pixels
    int8_t *y1;
    const int8_t *w;     // (blocks, depth / 16 rounded up, 4, 16), zero where there is no input or filter
    const int32_t *bias; // (blocks, 2, 4): bias, multiplier; rounded twice, 256 times the bias, and the shift
    const int32_t *end;  // of bias
    int32_t depth;
    int32_t x_pixel; // from a pixel to the next
    int32_t last;    // filters in the last block
    int32_t pairs;   // depth / 32
    int32_t pixels;  // an even number for pairs
    int32_t step;    // from a pixel's outputs to the next; for pairs, from the last block of a pair to the next pair's
    pl_requantize_t q;
} pl_dot_mve_t;

/* Copies `rows` by `pixels` runs of `bytes`, none of which overlap; none of the three is zero. The assembly knows
 * this order of fields. */
typedef struct {
    int8_t *y;
    const int8_t *x;
    int32_t bytes;
    int32_t pixels;
    int32_t x_pixel;
    int32_t y_pixel;
    int32_t rows;
    int32_t x_row;
    int32_t y_row;
} pl_rows_mve_t;

/* Depthwise: all channels of consecutive pixels. A block of 16 channels reads from w: int32 bias (4, 4), int8 weights
 * (taps, 16), int32 multipliers (4, 4); the rest after whole blocks the same, or with at most 8 channels and 9 taps
 * bias (2, 4), int16 weights (taps, 8), multipliers (2, 4). More than 9 taps are an even number. int32 go by the
 * lanes in which products of int8 arrive: channel c of 16 is lane c / 4 of vector 0, 2, 1, 3 for c % 4 = 0, 1, 2, 3;
 * channel c of 8 is lane c / 2 of vector c % 2. Where sums are rounded twice, a vector of shifts, to the left, follows
 * on each of multipliers. The assembly knows this order of fields and changes pixels. */
typedef struct {
    const int8_t *const *x; // (taps) pointers to (channels), at the first pixel
    int8_t *y;              // (pixels, channels)
    const int32_t *w;
    int32_t pixels;
    int32_t x_pixel; // from a tap to the next pixel's, up to 9 taps less the channels rounded up to 16
    int32_t y_pixel; // from a pixel's outputs to the next, less the channels in whole blocks
    int32_t blocks;  // of 16 channels
    int32_t rest;    // channels after them
    int32_t taps;
    pl_requantize_t q;
} pl_dw_mve_t;

/* Where each tap of the window at (top, left) reads: the input (ih, iw), or the padding. The first tap is at x[at],
 * inside or outside. The assembly knows this order of fields. */
typedef struct {
    const int8_t **taps; // (kh, kw)
    const int8_t *x;
    const int8_t *padding;
    int32_t at;
    int32_t top;
    int32_t left;
    int32_t ih;
    int32_t iw;
    int32_t kh;
    int32_t kw;
    int32_t x_row; // from a tap's input to that of the next row or column
    int32_t x_col;
    int32_t dh;
    int32_t dw;
} pl_window_mve_t;

/* A sum as an output, rounded once or twice. */
static inline int8_t pl_rounded_mve(const pl_requantize_t *q, int32_t twice, int32_t acc, int32_t m, int32_t shift)
{
    return (twice != 0) ? (int8_t)pl_tflm_output(acc, m, shift, q->zy, q->lo, q->hi) : pl_requantize_s8(q, acc, m);
}

/* One block of at most four filters at one pixel. */
static inline void pl_dot_pixel_mve(const pl_dot_mve_t *a, const int8_t *x, const int8_t *w, const int32_t *bias,
                                    int8_t *y, int32_t filters, int32_t twice)
{
    for (int32_t f = 0; f < filters; f++) {
        int32_t acc = (twice != 0) ? pl_shr(bias[f], 8) : bias[f];
        for (int32_t i = 0; i < a->depth; i++) {
            acc += x[i] * w[(pl_shr(i, 4) * 64) + (f * 16) + (i & 15)];
        }
        y[f] = pl_rounded_mve(&a->q, twice, acc, bias[4 + f], (bias[f] & 0xff) - 256);
    }
}

/* What NAME_dot_s8_... computes; `pixels` is 1, 2, or 0 for any number. */
static inline void pl_dot_c_mve(const pl_dot_mve_t *a, int32_t pixels, int32_t twice)
{
    const ptrdiff_t words = a->end - a->bias;
    const int32_t blocks = pl_shr((int32_t)words, 3);
    const int32_t pair = a->step + ((blocks - 1) * 4);
    const int32_t count = (pixels == 1) ? 1 : a->pixels;
    for (int32_t p = 0; p < count; p++) {
        const int8_t *w = a->w;
        const int8_t *x = a->x0 + (p * a->x_pixel);
        int8_t *y =
            (pixels == 2) ? ((((p & 1) != 0) ? a->y1 : a->y0) + (pl_shr(p, 1) * pair)) : (a->y0 + (p * a->step));
        for (const int32_t *bias = a->bias; bias != a->end; bias = &bias[8]) {
            pl_dot_pixel_mve(a, x, w, bias, y, ((bias + 8) == a->end) ? a->last : 4, twice);
            w = &w[((a->depth + 15) & ~15) * 4];
            y = &y[4];
        }
    }
}

/* What NAME_dot_s8_1x8_... computes: one pixel by blocks of eight filters, w (blocks, depth / 16, 8, 16) and bias
 * (blocks, 2, 8). */
static inline void pl_dot_eight_c_mve(const pl_dot_mve_t *a, int32_t twice)
{
    const int8_t *w = a->w;
    int8_t *y = a->y0;
    for (const int32_t *bias = a->bias; bias != a->end; bias = &bias[16]) {
        for (int32_t f = 0; f < 8; f++) {
            int32_t acc = (twice != 0) ? pl_shr(bias[f], 8) : bias[f];
            for (int32_t i = 0; i < a->depth; i++) {
                acc += a->x0[i] * w[(pl_shr(i, 4) * 128) + (f * 16) + (i & 15)];
            }
            y[f] = pl_rounded_mve(&a->q, twice, acc, bias[8 + f], (bias[f] & 0xff) - 256);
        }
        w = &w[a->depth * 8];
        y = &y[8];
    }
}

/* Channels of one block: `width` of them in the stream, 16 or 8, `count` of them real. */
static inline void pl_dw_block_mve(const pl_dw_mve_t *a, const int32_t *w, int32_t at, int32_t pixel, int8_t *y,
                                   int32_t width, int32_t count, int32_t twice)
{
    const int8_t *weights = (const int8_t *)(w + width); // of an int16 the low byte is enough
    const int32_t *m = w + width + (a->taps * 4);
    const int32_t step = a->x_pixel + ((a->taps <= 9) ? (((a->blocks * 16) + a->rest + 15) & ~15) : 0);
    const int32_t spread = (width == 8) ? 2 : 1;
    for (int32_t c = 0; c < count; c++) {
        const int32_t vector = (width == 8) ? (c & 1) : (((c & 1) * 2) + (pl_shr(c, 1) & 1));
        const int32_t lane = (vector * 4) + ((width == 8) ? pl_shr(c, 1) : pl_shr(c, 2));
        int32_t acc = w[lane];
        for (int32_t t = 0; t < a->taps; t++) {
            acc += a->x[t][(pixel * step) + at + c] * weights[(t * 16) + (c * spread)];
        }
        const int32_t *factor = m + ((twice != 0) ? ((2 * lane) - (lane & 3)) : lane);
        y[c] = pl_rounded_mve(&a->q, twice, acc, *factor, (twice != 0) ? factor[4] : 0);
    }
}

/* What NAME_dw_s8_... computes; with `repeat` every block has the weights of the first. */
static inline void pl_dw_c_mve(const pl_dw_mve_t *a, int32_t repeat, int32_t twice)
{
    const int32_t words = ((twice != 0) ? 48 : 32) + (a->taps * 4);
    for (int32_t p = 0; p < a->pixels; p++) {
        const int32_t *w = a->w;
        int8_t *y = a->y + (p * (a->y_pixel + (a->blocks * 16)));
        for (int32_t b = 0; b < a->blocks; b++) {
            pl_dw_block_mve(a, w, b * 16, p, y + (b * 16), 16, 16, twice);
            w = &w[(repeat != 0) ? 0 : words];
        }
        if (a->rest > 0) {
            pl_dw_block_mve(a, w, a->blocks * 16, p, y + (a->blocks * 16), ((a->rest <= 8) && (a->taps <= 9)) ? 8 : 16,
                            a->rest, twice);
        }
    }
}

/* What NAME_rows_s8 copies. */
static inline void pl_rows_c_mve(const pl_rows_mve_t *a)
{
    for (int32_t r = 0; r < a->rows; r++) {
        for (int32_t p = 0; p < a->pixels; p++) {
            pl_copy(a->y + (r * a->y_row) + (p * a->y_pixel), a->x + (r * a->x_row) + (p * a->x_pixel), a->bytes);
        }
    }
}

/* What NAME_window_s8 finds. */
static inline void pl_window_c_mve(const pl_window_mve_t *a)
{
    const int8_t **taps = a->taps;
    for (int32_t r = 0; r < a->kh; r++) {
        const int32_t row = a->top + (r * a->dh);
        for (int32_t c = 0; c < a->kw; c++) {
            const int32_t col = a->left + (c * a->dw);
            const bool inside = (row >= 0) && (row < a->ih) && (col >= 0) && (col < a->iw);
            *taps = inside ? (a->x + (a->at + (r * a->x_row) + (c * a->x_col))) : a->padding;
            taps++;
        }
    }
}

static inline void pl_fill_c_mve(int8_t *y_start, int32_t bytes, int32_t value)
{
    int8_t *y = y_start;
    for (int32_t left = bytes; left > 0; left--) {
        PL_BARRIER(y);
        *y = (int8_t)value;
        y++;
    }
}

/* Written for each model. */
static inline void pl_dot_mve(pl_dot_mve_t *a, int32_t kind);     // pairs of pixels, or any number
static inline void pl_dot_one_mve(pl_dot_mve_t *a, int32_t kind); // one pixel
static inline void pl_dw_mve(pl_dw_mve_t *a, int32_t kind);
static inline void pl_rows_mve(const pl_rows_mve_t *a);
static inline void pl_fill_mve(int8_t *y, int32_t bytes, int32_t value);
static inline void pl_window_mve(const pl_window_mve_t *a);

/* From `first` up to, not including, `end`. */
typedef struct {
    int32_t first;
    int32_t end;
} pl_taps_mve_t;

/* The taps of a kernel that fall inside 0..size when tap 0 is at `at`. */
static inline pl_taps_mve_t pl_clip_mve(int32_t at, int32_t taps, int32_t dilation, int32_t size)
{
    pl_taps_mve_t t = {0, taps};
    while ((t.first < taps) && ((at + (t.first * dilation)) < 0)) {
        t.first++;
    }
    while ((t.end > t.first) && ((at + ((t.end - 1) * dilation)) >= size)) {
        t.end--;
    }
    return t;
}

#endif
