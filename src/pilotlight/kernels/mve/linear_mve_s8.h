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

/* One row. */
static inline void pl_linear_mve_s8(const pl_linear_mve_t *s,
                                    const int8_t *x,     // (i)
                                    const int8_t *w,     // (blocks, i / 16 rounded up, 4, 16)
                                    const int32_t *bias, // (blocks, 2, 4)
                                    int8_t *y)           // (o)
{
    const int32_t blocks = pl_shr(s->o + 3, 2);
    pl_dot_mve_t a;
    a.x0 = x;
    a.x1 = x;
    a.y0 = y;
    a.y1 = y;
    a.w = w;
    a.bias = bias;
    a.end = bias + (blocks * 8);
    a.depth = s->i;
    a.x_pixel = 0;
    a.q.zy = s->q.zy; // one by one: a copy of the whole may become a call of memcpy
    a.q.shift = s->q.shift;
    a.q.lo = s->q.lo;
    a.q.hi = s->q.hi;
    a.last = s->o - ((blocks - 1) * 4);
    a.pairs = 0;
    a.pixels = 1;
    a.step = 0;
    pl_dot_one_mve(&a, s->kind);
}

#endif
