#ifndef PL_Q_BINARY_S16_H
#define PL_Q_BINARY_S16_H

#include "integer.h"
#include "mem.h"
#include "q_clamp.h"
#include "requantize_s16.h"

/* y = clamp((rhmul(x0 * 2^16, a) + rhmul(x1 * 2^16, b) + half) >> fraction, lo, hi) */
typedef struct {
    int32_t a;
    int32_t b;
    int32_t fraction;
    int32_t lo;
    int32_t hi;
} pl_q_add_s16_t;

/* y = clamp(rhmul(x0 * x1 * up, m), lo, hi) */
typedef struct {
    pl_requantize_t out;
    int32_t m;
} pl_q_mul_s16_t;

/* n sums of operands that lie s0 and s1 elements apart, each 0 or 1; y may be either of them. */
static inline void pl_q_add_s16(const pl_q_add_s16_t *t, const int16_t *x0_start, const int16_t *x1_start,
                                int16_t *y_start, int32_t n, int32_t s0, int32_t s1)
{
    const int16_t *x0 = x0_start;
    const int16_t *x1 = x1_start;
    int16_t *y = y_start;
    const int32_t fraction = t->fraction;
    const int32_t half = pl_signed((1u << (uint32_t)fraction) >> 1);
    int32_t a = t->a;
    int32_t b = t->b;
    PL_BARRIER(a); /* keeps them in registers */
    PL_BARRIER(b);
    for (int32_t left = n; left > 0; left--) {
        const int32_t v = pl_rhmul(*x0 * 65536, a) + pl_rhmul(*x1 * 65536, b) + half;
        *y = (int16_t)pl_q_clamp(pl_shr_by(v, fraction), t->lo, t->hi);
        y++;
        x0 = &x0[s0];
        x1 = &x1[s1];
    }
}

/* n products likewise. */
static inline void pl_q_mul_s16(const pl_q_mul_s16_t *t, const int16_t *x0_start, const int16_t *x1_start,
                                int16_t *y_start, int32_t n, int32_t s0, int32_t s1)
{
    const int16_t *x0 = x0_start;
    const int16_t *x1 = x1_start;
    int16_t *y = y_start;
    for (int32_t left = n; left > 0; left--) {
        *y = pl_requantize_s16(&t->out, *x0 * *x1, t->m);
        y++;
        x0 = &x0[s0];
        x1 = &x1[s1];
    }
}

#endif
