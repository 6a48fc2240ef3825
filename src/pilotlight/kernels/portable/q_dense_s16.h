#ifndef PL_Q_DENSE_S16_H
#define PL_Q_DENSE_S16_H

#include "patch_s8.h"

/* A convolution of int16 with int8 weights. The patch is that of int8: it moves bytes, so `ic` and `icg` of the layer
 * count bytes here, two per channel. */
typedef struct {
    pl_conv_s8_t c;
    int32_t chunk;  // products whose sum fits 32 bits, a multiple of 4
    int32_t down;   // 0: the whole sum fits 32 bits; else the rounded right shift of a sum of 64 bits
    int32_t narrow; // 1: y holds int8
} pl_conv_s16_t;

/* How sums become outputs; a copy, because a store to y might change what the layer's table holds. */
typedef struct {
    pl_requantize_t q;
    int32_t narrow;
} pl_put_s16_t;

static inline pl_put_s16_t pl_put_of_s16(const pl_conv_s16_t *s)
{
    const pl_requantize_t *q = &s->c.q;
    const pl_put_s16_t put = {{q->zy, q->shift, q->lo, q->hi}, s->narrow};
    return put;
}

/* y[at] = what becomes of a sum that fits 32 bits. */
static inline void pl_put_s16(const pl_put_s16_t *put, int32_t sum, int32_t m, void *y, int32_t at)
{
    const int32_t v = pl_requantize(&put->q, sum, m);
    if (put->narrow != 0) {
        ((int8_t *)y)[at] = (int8_t)v;
    } else {
        ((int16_t *)y)[at] = (int16_t)v;
    }
}

#endif
