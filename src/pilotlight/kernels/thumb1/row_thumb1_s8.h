#ifndef PL_ROW_THUMB1_S8_H
#define PL_ROW_THUMB1_S8_H

#include <stdint.h>

#include "requantize.h"

/* A linear layer of one row with assembly for Cortex-M0 and M0+: four filters at a time. */
#if !defined(PILOTLIGHT_PORTABLE) && defined(__thumb__) && !defined(__thumb2__) && (__ARM_ARCH >= 6)
#define PL_THUMB1_ROW_ASM 1
#else
#define PL_THUMB1_ROW_ASM 0
#endif

typedef struct {
    int32_t kind; // PL_THUMB1_ROW_*: which block
    int32_t ic;
    int32_t oc;
    pl_requantize_t q;
} pl_row_thumb1_t;

/* Blocks of four filters. The stream of a block: four sums to start from, for each input four weights by bytes, four
 * multipliers. The assembly knows the order of fields. */
typedef struct {
    const int8_t *x_end; // after the last input
    int32_t count;       // of inputs, below zero
    const int32_t *w;
    const int32_t *w_end;
    int8_t *y;
    int32_t zy;
    int32_t lo;
    int32_t hi;
} pl_thumb1_row_t;

/* Written for each model. */
static inline void pl_thumb1_row_block_s8(int32_t kind, const pl_thumb1_row_t *t);

static inline void pl_thumb1_row_twin_s8(const pl_thumb1_row_t *t, int32_t shift)
{
    const pl_requantize_t q = {t->zy, shift, t->lo, t->hi};
    const int32_t inputs = -t->count;
    int8_t *y = t->y;
    for (const int32_t *w = t->w; w != t->w_end; w = &w[8 + inputs]) {
        for (int32_t f = 0; f < 4; f++) {
            int32_t acc = w[f];
            for (int32_t i = 0; i < inputs; i++) {
                acc += t->x_end[i - inputs] * ((const int8_t *)&w[4 + i])[f];
            }
            y[f] = pl_requantize_s8(&q, acc, w[4 + inputs + f]);
        }
        y = &y[4];
    }
}

/* One row of inputs to outputs; what is left of whole blocks goes through spare memory. */
static inline void pl_row_thumb1_s8(const pl_row_thumb1_t *d,
                                    const int8_t *x, // (ic)
                                    const int32_t *w,
                                    int8_t *y) // (oc)
{
    const int32_t whole = d->oc & ~3;
    const int32_t words = 8 + d->ic;
    pl_thumb1_row_t t = {x + d->ic, -d->ic,  w,       w + (pl_signed((uint32_t)whole >> 2) * words),
                         y,         d->q.zy, d->q.lo, d->q.hi};
    if (whole > 0) {
        pl_thumb1_row_block_s8(d->kind, &t);
    }
    if (d->oc > whole) {
        int8_t spare[4] = {0, 0, 0, 0};
        t.w = t.w_end;
        t.w_end = &t.w_end[words];
        t.y = spare;
        pl_thumb1_row_block_s8(d->kind, &t);
        for (int32_t f = whole; f < d->oc; f++) {
            y[f] = spare[f - whole];
        }
    }
}

#endif
