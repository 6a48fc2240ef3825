#ifndef PL_WINOGRAD_DSP_S8_H
#define PL_WINOGRAD_DSP_S8_H

#include <stdbool.h>
#include <stdint.h>

#include "dsp_s8.h"
#include "integer.h"
#include "patch_s8.h"

/* A 3x3 convolution of stride 1 by Winograd's F(2x2, 3x3) in integers: two tiles side by side, 2x2 outputs each, four
 * filters at a time. With d the 4x4 inputs that a tile sees and g the weights, by rows and by columns alike,
 *
 *   inputs   1: d1 + d2        2: d2 - d1        0: d0 - d2   3: d3 - d1
 *   weights  1: g0 + g1 + g2   2: g0 - g1 + g2   0: 2 g0      3: 2 g2
 *   outputs  2 y0 = (1) + (2) + (0)              2 y1 = (1) - (2) + (3)
 *
 * where (k) is the product of inputs k and weights k, summed over the channels. By columns the factor 2 of weights 0
 * and 3 is left to the outputs. Four times the convolution comes out, modulo 2^32; the generator proves that it fits,
 * and so the division by four is exact. Inputs have 11 bits, weights 12. */
typedef struct {
    pl_conv_s8_t s;
    int32_t kind;       // PL_WINOGRAD_*: which block
    int32_t quad_words; // in the stream of four filters
} pl_winograd_dsp_t;

/* Brings two tiles into the form above, four channels at a time, the last ones first. The assembly knows the order of
 * fields. */
typedef struct {
    const int8_t *x; // the first pixel of 4 rows of 6, at the last four channels
    int32_t row;     // bytes to the next row, column, four channels
    int32_t column;
    int32_t channels;
    int32_t *v_end; // end of the result, (pairs of channels, 16, 2 tiles)
    int32_t fours;  // of channels
} pl_dsp_tiles_t;

/* Fours of filters at two tiles. The stream of four filters: 16 times, for each pair of channels, a word of each
 * filter; then two times the biases and multipliers of two filters. Where they are rounded twice, biases are times 256,
 * plus the bits to the right less one. */
typedef struct {
    const int32_t *v; // (pairs of channels, 16, 2 tiles)
    const int32_t *w; // stream of the first four filters, end of the last
    const int32_t *w_end;
    int32_t *u;    // spare memory (left and right pixel, 2 rows, 2 tiles, 4 filters)
    int32_t steps; // pairs of channels
    int32_t zy;
    int32_t lo;
    int32_t hi;
    int8_t *y[8]; // first filter's outputs (row, tile, column); they move on
} pl_dsp_winograd_t;

enum { PL_WINOGRAD_SPARE = 32 }; // words of u

/* Written for each model. */
static inline void pl_spread_s8(const int8_t *x, int8_t *y, int32_t n);
static inline void pl_tiles_s8(const pl_dsp_tiles_t *t);
static inline void pl_winograd_block_s8(int32_t kind, int32_t filters, pl_dsp_winograd_t *t);

/* n times four bytes to places 96 bytes apart. */
static inline void pl_spread_twin_s8(const int8_t *x_start, int8_t *y_start, int32_t n)
{
    const int8_t *x = x_start;
    int8_t *y = y_start;
    for (int32_t left = n; left > 0; left--) {
        y[0] = x[0];
        y[1] = x[1];
        y[2] = x[2];
        y[3] = x[3];
        x = &x[4];
        y = &y[96];
    }
}

/* The sum and the difference of both halves of words. */
static inline int32_t pl_add16(int32_t a, int32_t b)
{
    return pl_signed((((uint32_t)a & 0xffffu) + (uint32_t)b) & 0xffffu)
           | pl_signed(((uint32_t)a & 0xffff0000u) + ((uint32_t)b & 0xffff0000u));
}

static inline int32_t pl_subtract16(int32_t a, int32_t b)
{
    return pl_signed((((uint32_t)a & 0xffffu) - (uint32_t)b) & 0xffffu)
           | pl_signed(((uint32_t)a & 0xffff0000u) - ((uint32_t)b & 0xffff0000u));
}

/* Channels k and k + 2 as a word. */
static inline int32_t pl_pair16(const int8_t *x, int32_t k)
{
    return pl_signed(((uint32_t)x[k] & 0xffffu) | ((uint32_t)x[k + 2] << 16));
}

static inline void pl_tiles_twin_s8(const pl_dsp_tiles_t *t)
{
    const int8_t *x = t->x;
    int32_t *v = t->v_end;
    for (int32_t n = t->fours; n > 0; n--) {
        v = &v[-64];
        for (int32_t i = 0; i < 12; i++) { // column i / 2, channels of half i % 2
            const int8_t *from = x + ((i / 2) * t->column);
            int32_t *to = v + (8 * (i / 2)) + (i & 1); // rows 1, 2, 0, 3
            const int32_t d0 = pl_pair16(from, i & 1);
            const int32_t d1 = pl_pair16(from + t->row, i & 1);
            const int32_t d2 = pl_pair16(from + (2 * t->row), i & 1);
            const int32_t d3 = pl_pair16(from + (3 * t->row), i & 1);
            to[0] = pl_add16(d1, d2);
            to[2] = pl_subtract16(d2, d1);
            to[4] = pl_subtract16(d0, d2);
            to[6] = pl_subtract16(d3, d1);
        }
        for (int32_t row = 0; row < 4; row++) {
            int32_t d[12]; // (6 columns, 2)
            for (int32_t i = 0; i < 12; i++) {
                d[i] = v[(8 * (i / 2)) + (2 * row) + (i & 1)];
            }
            for (int32_t i = 0; i < 4; i++) { // half i / 2, tile i % 2
                const int32_t *at = d + (4 * (i & 1)) + (i / 2);
                int32_t *to = v + (32 * (i / 2)) + (2 * row) + (i & 1); // columns 1, 2, 0, 3
                to[0] = pl_add16(at[2], at[4]);
                to[8] = pl_subtract16(at[4], at[2]);
                to[16] = pl_subtract16(at[0], at[4]);
                to[24] = pl_subtract16(at[6], at[2]);
            }
        }
        x = &x[-(t->channels)];
    }
}

/* The sum of products of one filter's weights and one tile's inputs at one of the 16 places. */
static inline uint32_t pl_place_s8(const int32_t *v_start, const int32_t *w_start, int32_t steps)
{
    const int32_t *v = v_start;
    const int32_t *w = w_start;
    uint32_t sum = 0;
    for (int32_t left = steps; left > 0; left--) {
        sum += pl_unsigned((pl_low16(*v) * pl_low16(*w)) + (pl_high16(*v) * pl_high16(*w)));
        v = &v[32];
        w = &w[4];
    }
    return sum;
}

static inline void pl_winograd_twin_s8(pl_dsp_winograd_t *t, int32_t shift, int32_t rounding)
{
    const pl_requantize_t q = {t->zy, shift, t->lo, t->hi};
    const int32_t place = 4 * t->steps;
    const int32_t words = (16 * place) + 8;
    for (const int32_t *w = t->w; w != t->w_end; w = &w[words]) {
        for (int32_t i = 0; i < 32; i++) { // column i / 8, tile i / 4 % 2, filter i % 4
            const int32_t column = (i / 8);
            const int32_t *v = t->v + (column * 8) + ((i / 4) & 1);
            const int32_t *g = w + (column * 4 * place) + (i & 3);
            const uint32_t one = pl_place_s8(v, g, t->steps);
            const uint32_t two = pl_place_s8(v + 2, g + place, t->steps);
            uint32_t sum = one + two + pl_place_s8(v + 4, g + (2 * place), t->steps);
            for (int32_t row = 0; row < 2; row++) {
                int32_t *left = t->u + (8 * row) + (i & 7);
                int32_t *right = left + 16;
                const uint32_t before = (column == 0) ? 0u : (uint32_t)*left;
                if (column < 2) {
                    *right = (int32_t)((column == 0) ? sum : (before - sum));
                    *left = pl_signed(before + sum);
                } else if (column == 2) {
                    *left = pl_signed(before + (2u * sum));
                } else {
                    *right = pl_signed((uint32_t)*right + (2u * sum));
                }
                sum = one - two + ((row == 0) ? pl_place_s8(v + 6, g + (3 * place), t->steps) : 0u);
            }
        }
        for (int32_t i = 0; i < 16; i++) { // row i / 8, tile i / 4 % 2, filter i % 4
            const int32_t *u = t->u + i;
            const int32_t *end = w + words - 8 + (((i / 2) & 1) * 4) + (i & 1);
            int8_t **y = t->y + ((i / 4) * 2);
            const int32_t right = (rounding == PL_ONCE) ? 0 : (end[0] & 0xff);
            const int32_t bias = (rounding == PL_ONCE) ? end[0] : pl_shr(end[0], 8);
            *y[0] = pl_rounded_s8(&q, rounding, bias + (u[0] / 4), end[2], right);
            *y[1] = pl_rounded_s8(&q, rounding, bias + (u[16] / 4), end[2], right);
            y[0]++;
            y[1]++;
        }
    }
}

/* What two tiles at the border see: (fours of channels, 6 columns, 4 rows, 4), the zero point outside the image. */
static inline void pl_border_s8(const pl_conv_s8_t *s, int32_t top, int32_t left,
                                const int8_t *x, // (ih, iw, ic)
                                int32_t *to)
{
    const int32_t fours = pl_signed((uint32_t)s->ic >> 2);
    const int32_t outside = pl_signed(((uint32_t)s->zx & 0xffu) * 0x01010101u);
    for (int32_t r = 0; r < 4; r++) {
        const int32_t row = top + r;
        const bool inside = (row >= 0) && (row < s->ih);
        for (int32_t c = 0; c < 6; c++) {
            const int32_t column = left + c;
            int32_t *at = to + (4 * c) + r;
            if (inside && (column >= 0) && (column < s->iw)) {
                pl_spread_s8(x + (((row * s->iw) + column) * s->ic), (int8_t *)at, fours);
            } else {
                for (int32_t n = fours; n > 0; n--) {
                    *at = outside;
                    at = &at[24];
                }
            }
        }
    }
}

/* The inputs of two tiles into v. The border's lie before it at first, and v overtakes them as it grows downward. */
static inline void pl_winograd_inputs_s8(const pl_conv_s8_t *s, int32_t row, int32_t col,
                                         const int8_t *x, // (ih, iw, ic)
                                         int32_t *v)      // (pairs of channels, 16, 2 tiles)
{
    const int32_t top = row - s->top;
    const int32_t left = col - s->left;
    const int32_t fours = pl_signed((uint32_t)s->ic >> 2);
    pl_dsp_tiles_t t;
    t.v_end = v + (16 * s->ic);
    t.fours = fours;
    if ((top >= 0) && ((top + 4) <= s->ih) && (left >= 0) && ((left + 6) <= s->iw)) {
        t.x = x + (((top * s->iw) + left + 1) * s->ic) - 4;
        t.row = s->iw * s->ic;
        t.column = s->ic;
        t.channels = 4;
    } else {
        int32_t *const border = v - PL_WINOGRAD_SPARE;
        pl_border_s8(s, top, left, x, border);
        t.x = (const int8_t *)(border + (24 * (fours - 1)));
        t.row = 4;
        t.column = 16;
        t.channels = 96;
    }
    pl_tiles_s8(&t);
}

/* What all filters at two tiles have in common; outputs from a filter on, those outside the image in spare memory. */
static inline void pl_winograd_outputs_s8(const pl_conv_s8_t *s, int32_t row, int32_t col, int32_t filter,
                                          int8_t *y,     // (oh, ow, oc)
                                          int8_t *spare, // (oc)
                                          pl_dsp_winograd_t *t)
{
    t->steps = pl_signed((uint32_t)s->ic >> 1);
    t->zy = s->q.zy;
    t->lo = s->q.lo;
    t->hi = s->q.hi;
    for (int32_t i = 0; i < 8; i++) {
        const int32_t r = row + (i / 4);
        const int32_t c = col + (i & 3);
        t->y[i] = (((r < s->oh) && (c < s->ow)) ? (y + (((r * s->ow) + c) * s->oc)) : spare) + filter;
    }
}

/* w holds the streams of four filters each. Where the filters are no multiple of four, the last four are partly those
 * before them. */
static inline void pl_winograd_dsp_s8(const pl_winograd_dsp_t *d,
                                      const int8_t *x, // (n, ih, iw, ic)
                                      const int32_t *w,
                                      int8_t *y,     // (n, oh, ow, oc)
                                      void *scratch) // u, v, and (oc) where the output has odd sizes
{
    const pl_conv_s8_t *s = &d->s;
    const int32_t in_column = pl_signed(pl_unsigned(s->oh + 1) >> 1);
    const int32_t fours = pl_signed((uint32_t)s->oc >> 2);
    pl_dsp_winograd_t t;
    t.u = (int32_t *)scratch;
    int32_t *const v = t.u + PL_WINOGRAD_SPARE;
    int8_t *const spare = (int8_t *)(v + (16 * s->ic));
    t.v = v;
    for (int32_t i = 0; i < s->n; i++) {
        const int32_t image = (s->reverse != 0) ? (s->n - 1 - i) : i;
        const int8_t *from = x + (image * s->ih * s->iw * s->ic);
        int8_t *to = y + (image * s->oh * s->ow * s->oc);
        for (int32_t j = 0; j < in_column; j++) {
            const int32_t row = 2 * ((s->reverse != 0) ? (in_column - 1 - j) : j);
            for (int32_t k = 0; k < s->in_row; k++) {
                const int32_t col = 4 * ((s->reverse != 0) ? (s->in_row - 1 - k) : k);
                pl_winograd_inputs_s8(s, row, col, from, v);
                pl_winograd_outputs_s8(s, row, col, 0, to, spare, &t);
                t.w = w;
                t.w_end = w + (fours * d->quad_words);
                pl_winograd_block_s8(d->kind, 4, &t);
                if ((s->oc & 3) != 0) {
                    pl_winograd_outputs_s8(s, row, col, s->oc - 4, to, spare, &t);
                    t.w = t.w_end;
                    t.w_end = &t.w_end[d->quad_words];
                    pl_winograd_block_s8(d->kind, 4, &t);
                }
            }
        }
    }
}

#endif
