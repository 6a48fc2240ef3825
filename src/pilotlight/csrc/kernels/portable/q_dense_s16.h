#ifndef PL_Q_DENSE_S16_H
#define PL_Q_DENSE_S16_H

#include "patch_s8.h"
#include "q_wide.h"

/* A convolution of int16 with int8 weights. The patch is that of int8: it moves bytes, so `ic` and `icg` of the layer
 * count bytes here, two a channel. */
typedef struct {
    pl_conv_s8_t c;
    int32_t chunk;  // products whose sum fits 32 bits, a multiple of 4
    int32_t down;   // 0: the whole sum fits 32 bits; else the rounded right shift of a sum of 64 bits
    int32_t narrow; // 1: y holds int8
} pl_conv_s16_t;

/* y[at] = what becomes of an accumulator. */
static inline void pl_put_s16(const pl_conv_s16_t *s, int64_t acc, int32_t m, void *y, int32_t at)
{
    const pl_requantize_t *q = &s->c.q;
    const int32_t a = s->down ? pl_q_down(acc, s->down) : (int32_t)acc;
    const int32_t v = pl_q_clamp(pl_rhmul((int32_t)((uint32_t)a << q->shift), m) + q->zy, q->lo, q->hi);
    if (s->narrow) {
        ((int8_t *)y)[at] = (int8_t)v;
    } else {
        ((int16_t *)y)[at] = (int16_t)v;
    }
}

#endif
