#ifndef PL_ROW_DSP_S8_H
#define PL_ROW_DSP_S8_H

#include <stdint.h>

#include "dsp_s8.h"
#include "integer.h"

/* One row of inputs to outputs, read where they are. */
typedef struct {
    int32_t kind; // PL_ROW_*: which blocks
    int32_t ic;   // inputs, a multiple of four
    int32_t oc;   // outputs
    pl_requantize_t q;
} pl_row_dsp_t;

/* The same with another number of filters at a time, for the kernels that are measured. */
typedef struct {
    pl_row_dsp_t d;
    int32_t filters; // at a time, an even number
    int32_t many;    // outputs that are computed so; those after them go by two
} pl_row_by_dsp_t;

/* Calls the block of that many filters; written for each model. */
static inline void pl_row_block_s8(int32_t kind, int32_t filters, const pl_dsp_row_t *t);

/* The first `many` outputs by `filters`, then by two, the last of an odd number through spare memory. */
static inline void pl_row_outputs_s8(const pl_row_dsp_t *d, int32_t filters, int32_t many,
                                     const int8_t *x, // (ic)
                                     const int32_t *w,
                                     int8_t *y) // (oc)
{
    const int32_t steps = pl_signed((uint32_t)d->ic >> 2); // of one filter
    const int32_t words = steps + 2;
    const int32_t by_two = d->oc & ~1;
    pl_dsp_row_t t = {x, steps, x + d->ic, w, w + (many * words), y, d->q.zy, d->q.lo, d->q.hi};
    if (many > 0) {
        pl_row_block_s8(d->kind, filters, &t);
    }
    if (by_two > many) {
        t.w = w + (many * words);
        t.w_end = w + (by_two * words);
        t.y = y + many;
        pl_row_block_s8(d->kind, 2, &t);
    }
    if (d->oc > by_two) {
        int8_t spare[2] = {0, 0};
        t.w = w + (by_two * words);
        t.w_end = t.w + (2 * words);
        t.y = spare;
        pl_row_block_s8(d->kind, 2, &t);
        y[by_two] = spare[0];
    }
}

/* Outputs by eight, then by two. */
static inline void pl_row_dsp_s8(const pl_row_dsp_t *d,
                                 const int8_t *x, // (ic)
                                 const int32_t *w,
                                 int8_t *y) // (oc)
{
    pl_row_outputs_s8(d, 8, d->oc & ~7, x, w, y);
}

static inline void pl_row_by_dsp_s8(const pl_row_by_dsp_t *b,
                                    const int8_t *x, // (ic)
                                    const int32_t *w,
                                    int8_t *y) // (oc)
{
    pl_row_outputs_s8(&b->d, b->filters, b->many, x, w, y);
}

#endif
