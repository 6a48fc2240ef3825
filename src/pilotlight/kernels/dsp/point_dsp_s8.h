#ifndef PL_POINT_DSP_S8_H
#define PL_POINT_DSP_S8_H

#include <stdbool.h>
#include <stdint.h>

#include "dsp_s8.h"
#include "integer.h"

/* A 1x1 convolution without padding. */
typedef struct {
    int32_t kind; // PL_POINT_*: which blocks
    int32_t rows; // output (rows, ow, oc)
    int32_t ow;
    int32_t oc;
    int32_t ic;
    int32_t x_row;   // from the inputs of an output row to those of the next
    int32_t x_pixel; // from the inputs of a pixel to those of the next
    int32_t steps;   // of four inputs
    int32_t words;   // of a filter in the stream
    int32_t reverse; // 1: from the last pixel to the first
    pl_requantize_t q;
} pl_point_dsp_t;

/* Four or two filters at two pixels, called with the struct of pairs of filters. x has, for every two inputs, a word of
 * the first and one of the second pixel. The stream of the filters: sums to start from, for every two inputs a word of
 * each pair (packed) or of each filter (wide), multipliers; where they are rounded twice, before each of these the bits
 * to the right less one. */

/* Calls the block of that many filters; written for each model. */
static inline void pl_point_block_s8(int32_t kind, int32_t filters, const pl_dsp_conv_t *t);

/* Brings a multiple of four inputs of each of two pixels into that form; written for each model. */
static inline void pl_weave_s8(const int8_t *a, const int8_t *b, int16_t *y, int32_t n);

static inline void pl_point_twin_s8(const pl_dsp_conv_t *t, int32_t filters, int32_t wide, int32_t shift,
                                    int32_t rounding)
{
    const pl_requantize_t q = {t->zy, shift, t->lo, t->hi};
    const int32_t each = (rounding == PL_ONCE) ? 1 : 2;        // words of a filter at the end
    const int32_t two = (wide != 0) ? filters : (filters / 2); // words of two inputs
    const int32_t words = (filters * (1 + each)) + (2 * t->steps * two);
    int8_t *y = t->y;
    for (const int32_t *w = t->w; w != t->w_end; w = &w[words]) {
        for (int32_t f = 0; f < filters; f++) {
            const int32_t *m = w + words - (each * (filters - f));
            for (int32_t p = 1; p >= 0; p--) {
                const int16_t *at = t->x + (2 * p);
                const int32_t *v = w + filters + ((wide != 0) ? f : (f / 2));
                int32_t sum = ((f & 1) != 0) ? w[f] : pl_start_a(w + f, wide);
                for (int32_t k = 0; k < (2 * t->steps); k++) {
                    const int32_t low = pl_low16(*v);
                    const int32_t high = pl_high16(*v);
                    if (wide != 0) {
                        sum += (at[0] * low) + (at[1] * high);
                    } else if ((f & 1) != 0) {
                        sum += (at[0] * pl_weight_b(low)) + (at[1] * pl_weight_b(high));
                    } else {
                        sum += (at[0] * pl_weight_a(low)) + (at[1] * pl_weight_a(high));
                    }
                    v = &v[two];
                    at = &at[4];
                }
                y[(p * t->y_pixel) + f] = pl_rounded_s8(&q, rounding, sum, m[each - 1], (each == 1) ? 0 : m[0]);
            }
        }
        y = &y[filters];
    }
}

/* Four inputs of two pixels at a time as 16-bit numbers, in the order 0, 2, 1, 3, two of each pixel in turns. */
static inline void pl_weave_twin_s8(const int8_t *a_start, const int8_t *b_start, int16_t *y_start, int32_t n)
{
    const int8_t *a = a_start;
    const int8_t *b = b_start;
    int16_t *y = y_start;
    for (int32_t left = n; left > 0; left -= 4) {
        for (int32_t k = 0; k < 2; k++) {
            y[0] = a[k];
            y[1] = a[k + 2];
            y[2] = b[k];
            y[3] = b[k + 2];
            y = &y[4];
        }
        a = &a[4];
        b = &b[4];
    }
}

/* All inputs of two pixels; those that do not fill four are in their own order. */
static inline void pl_point_inputs_s8(int32_t ic, const int8_t *a, const int8_t *b, int16_t *patch)
{
    const int32_t fours = ic & ~3;
    if (fours > 0) {
        pl_weave_s8(a, b, patch, fours);
    }
    for (int32_t k = fours; k < ic; k++) {
        int16_t *const to = &patch[(2 * k) - (k & 1)];
        to[0] = a[k];
        to[2] = b[k];
    }
}

/* A convolution. w holds the streams of fours of filters; one or two that are left have one of their own. What does not
 * fill four goes through spare memory. Of an odd number of pixels in a row the last is computed twice, in the same
 * place. */
static inline void pl_point_dsp_s8(const pl_point_dsp_t *d,
                                   const int8_t *x, // (rows, ow, ic), x_row and x_pixel apart
                                   const int32_t *w,
                                   int8_t *y,     // (rows, ow, oc)
                                   void *scratch) // the patch: (steps * 2, 2 pixels, 2 inputs)
{
    int16_t *const patch = (int16_t *)scratch;
    const int32_t rest = d->oc & 3;
    const int32_t filters = (rest == 3) ? 4 : 2; // of the block that computes them
    const int32_t last = (d->ow - 1) & ~1;       // where the last two pixels of a row start
    pl_dsp_conv_t t;
    t.x = patch;
    t.steps = d->steps;
    t.x_end = patch + (8 * d->steps);
    t.zy = d->q.zy;
    t.lo = d->q.lo;
    t.hi = d->q.hi;
    for (int32_t j = 0; j < d->rows; j++) {
        const int32_t row = (d->reverse != 0) ? (d->rows - 1 - j) : j;
        for (int32_t i = 0; i <= last; i += 2) {
            const int32_t col = (d->reverse != 0) ? (last - i) : i;
            const bool both = (col + 1) < d->ow;
            const int8_t *a = x + (row * d->x_row) + (col * d->x_pixel);
            int8_t *out = y + (((row * d->ow) + col) * d->oc);
            pl_point_inputs_s8(d->ic, a, both ? (a + d->x_pixel) : a, patch);
            t.w = w;
            t.w_end = w + ((d->oc - rest) * d->words);
            t.y = out;
            t.y_pixel = both ? d->oc : 0;
            pl_point_block_s8(d->kind, 4, &t);
            if (rest > 0) {
                int8_t spare[8] = {0}; // (pixels, filters)
                t.w = t.w_end;
                t.w_end = &t.w_end[filters * d->words];
                t.y = spare;
                t.y_pixel = filters;
                pl_point_block_s8(d->kind, filters, &t);
                out = &out[d->oc - rest];
                for (int32_t k = 0; k < rest; k++) {
                    out[k + (both ? d->oc : 0)] = spare[filters + k];
                    out[k] = spare[k];
                }
            }
        }
    }
}

#endif
