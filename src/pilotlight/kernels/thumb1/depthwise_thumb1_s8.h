#ifndef PL_DEPTHWISE_THUMB1_S8_H
#define PL_DEPTHWISE_THUMB1_S8_H

#include <stdint.h>

#include "channels_s8.h"
#include "requantize.h"

/* 3x3 depthwise convolution with assembly for Cortex-M0 and M0+: a channel's weights are on the stack along a row. */
#if !defined(PILOTLIGHT_PORTABLE) && defined(__thumb__) && !defined(__thumb2__) && (__ARM_ARCH >= 6)
#define PL_THUMB1_DEPTHWISE_ASM 1
#else
#define PL_THUMB1_DEPTHWISE_ASM 0
#endif

typedef struct {
    pl_conv_s8_t s;
    int32_t kind;    // PL_THUMB1_DEPTHWISE_*: which block
    int32_t rows;    // of outputs at a time
    int32_t in_rows; // how many times
} pl_depthwise_thumb1_t;

/* All channels of some pixels of one or more rows. A channel's words: nine weights by bytes, (3, 3) and three unused,
 * the sum to start from, the multiplier. The assembly knows the order of fields. */
typedef struct {
    const int8_t *x; // (rows, columns, ic)
    int32_t row;     // bytes from a row of it to the next
    int32_t ic;
    const int32_t *w;
    const int32_t *w_end;
    int8_t *y;
    int32_t pixels;
    int32_t zy;
    int32_t lo;
    int32_t hi;
    int32_t rows;  // of outputs; the fields from here on are for blocks of several rows
    int32_t x_row; // bytes from what a row of outputs sees to what the next one does
    int32_t y_row; // and from a row of outputs to the next
} pl_thumb1_depthwise_t;

/* Written for each model. */
static inline void pl_thumb1_depthwise_block_s8(int32_t kind, const pl_thumb1_depthwise_t *t);

static inline void pl_thumb1_depthwise_twin_s8(const pl_thumb1_depthwise_t *t, int32_t sw, int32_t shift)
{
    const pl_requantize_t q = {t->zy, shift, t->lo, t->hi};
    const int8_t *x = t->x;
    int8_t *y = t->y;
    for (const int32_t *w = t->w; w != t->w_end; w = &w[5]) {
        const int8_t *weights = (const int8_t *)w;
        for (int32_t i = 0; i < t->rows; i++) {
            for (int32_t p = 0; p < t->pixels; p++) {
                int32_t acc = w[3];
                for (int32_t r = 0; r < 3; r++) {
                    for (int32_t c = 0; c < 3; c++) {
                        acc += x[(i * t->x_row) + (r * t->row) + (((p * sw) + c) * t->ic)] * weights[(3 * r) + c];
                    }
                }
                y[(i * t->y_row) + (p * t->ic)] = pl_requantize_s8(&q, acc, w[4]);
            }
        }
        x++;
        y++;
    }
}

static inline void pl_depthwise_thumb1_s8(const pl_depthwise_thumb1_t *d,
                                          const int8_t *x,  // (n, ih, iw, ic)
                                          const int32_t *w, // (ic, 5)
                                          int8_t *y,        // (n, oh, ow, ic)
                                          void *scratch)    // the patch
{
    const pl_conv_s8_t *s = &d->s;
    int8_t *const patch = (int8_t *)scratch; // (rows, columns, ic)
    pl_thumb1_depthwise_t t = {patch,   0,       s->ic,   w, w + (5 * s->ic), y, 0, s->q.zy,
                               s->q.lo, s->q.hi, d->rows, 0, s->ow * s->ic};
    for (int32_t i = 0; i < s->n; i++) {
        for (int32_t j = 0; j < d->in_rows; j++) {
            for (int32_t k = 0; k < s->in_row; k++) {
                pl_group_s8_t g;
                pl_group_s8(s, i, j, k, &g);
                g.row = ((s->reverse != 0) ? (d->in_rows - 1 - j) : j) * d->rows;
                t.rows = ((s->oh - g.row) < d->rows) ? (s->oh - g.row) : d->rows;
                pl_gather_rows_s8(s, &g, ((t.rows - 1) * s->sh) + 3, x + (g.image * s->ih * s->iw * s->ic), patch);
                t.row = (((g.pixels - 1) * s->sw) + 3) * s->ic;
                t.x_row = s->sh * t.row;
                t.y = y + (((((g.image * s->oh) + g.row) * s->ow) + g.col) * s->ic);
                t.pixels = g.pixels;
                pl_thumb1_depthwise_block_s8(d->kind, &t);
            }
        }
    }
}

#endif
