#ifndef PL_LINEAR_MVE_S8_H
#define PL_LINEAR_MVE_S8_H

#include <stdint.h>

#include "blocks_mve_s8.h"
#include "integer.h"

typedef struct {
    int32_t i; // inputs, outputs
    int32_t o;
    int32_t kind; // of the blocks
    pl_requantize_t q;
} pl_linear_mve_t;

/* One row: `filters` at a time, which are four, or eight where all inputs and outputs fill their vectors. */
static inline void pl_row_mve_s8(const pl_linear_mve_t *s, int32_t filters, const int8_t *x, const int8_t *w,
                                 const int32_t *bias, int8_t *y, pl_dot_mve_t *a)
{
    const int32_t blocks = (filters == 8) ? pl_shr(s->o, 3) : pl_shr(s->o + 3, 2);
    a->x0 = x;
    a->x1 = x;
    a->y0 = y;
    a->y1 = y;
    a->w = w;
    a->bias = bias;
    a->end = bias + (blocks * 2 * filters);
    a->depth = s->i;
    a->x_pixel = 0;
    a->q.zy = s->q.zy; // one by one: a copy of the whole may become a call of memcpy
    a->q.shift = s->q.shift;
    a->q.lo = s->q.lo;
    a->q.hi = s->q.hi;
    a->last = s->o - ((blocks - 1) * filters);
    a->pairs = 0;
    a->pixels = 1;
    a->step = 0;
}

static inline void pl_linear_mve_s8(const pl_linear_mve_t *s,
                                    const int8_t *x,     // (i)
                                    const int8_t *w,     // (blocks, i / 16 rounded up, 4, 16)
                                    const int32_t *bias, // (blocks, 2, 4)
                                    int8_t *y)           // (o)
{
    pl_dot_mve_t a;
    pl_row_mve_s8(s, 4, x, w, bias, y, &a);
    pl_dot_one_mve(&a, s->kind);
}

static inline void pl_linear_eight_mve_s8(const pl_linear_mve_t *s,
                                          const int8_t *x,     // (i)
                                          const int8_t *w,     // (blocks, i / 16, 8, 16)
                                          const int32_t *bias, // (blocks, 2, 8)
                                          int8_t *y)           // (o)
{
    pl_dot_mve_t a;
    pl_row_mve_s8(s, 8, x, w, bias, y, &a);
    pl_dot_mve(&a, s->kind);
}

#endif
