#ifndef PL_Q_SOFTMAX_S16_H
#define PL_Q_SOFTMAX_S16_H

#include "integer.h"
#include "q_inverse.h"
#include "requantize_s16.h"

/* A softmax of int16 along the middle of (outer, axis, inner). */
typedef struct {
    int32_t outer;
    int32_t axis;
    int32_t inner;
    int32_t reach; // from this distance to the largest on an exponential is 0
    int32_t up;    // distance to log2, in units of 2^-16
    int32_t factor;
    int32_t bits; // the largest exponential is 2^bits
    pl_requantize_t out;
    int32_t m; // brings a probability in units of 2^-28 to y's scale
} pl_q_softmax_s16_t;

/* 2^-u for u in units of 2^-16, in units of 2^-30: a polynomial for the fraction, within 2e-7. */
static inline int32_t pl_q_exp2_s16(int32_t u)
{
    const int32_t f = (int32_t)(pl_unsigned(u & 0xffff) << 15); // 0 <= f < 1 in units of 2^-31
    int32_t p = -1024378;
    p = 9908876 + (2 * pl_rhmul(p, f));
    p = -59395829 + (2 * pl_rhmul(p, f));
    p = 257898512 + (2 * pl_rhmul(p, f));
    p = -744258156 + (2 * pl_rhmul(p, f));
    p = 1073741824 + (2 * pl_rhmul(p, f));
    return pl_shr_by(p, pl_shr(u, 16));
}

/* The exponential of an element that lies d below its lane's largest. */
static inline int32_t pl_q_exponential_s16(const pl_q_softmax_s16_t *s, int32_t d)
{
    return (d < s->reach) ? pl_shr_by(pl_q_exp2_s16(pl_rhmul(d * s->up, s->factor)), 30 - s->bits) : 0;
}

/* Lane by lane; y may be x. A probability is rhmul(e * 2^(30-bits), r * 2^14) >> h, times 2^28. */
static inline void pl_q_softmax_s16(const pl_q_softmax_s16_t *s, const int16_t *x, int16_t *y)
{
    const int32_t up = pl_signed(1u << pl_unsigned(30 - s->bits));
    const int32_t inner = s->inner;
    for (int32_t lane = 0; lane < (s->outer * inner); lane++) {
        const int32_t at = (lane / inner * s->axis * inner) + (lane % inner);
        const int16_t *p = x + at;
        pl_q_inverse_t inverse;
        int32_t top = -32768;
        uint32_t sum = 0u;
        for (int32_t k = 0; k < s->axis; k++) {
            top = (p[k * inner] > top) ? p[k * inner] : top;
        }
        for (int32_t k = 0; k < s->axis; k++) {
            sum += (uint32_t)pl_q_exponential_s16(s, top - p[k * inner]);
        }
        inverse = pl_q_inverse(sum, s->bits);
        for (int32_t k = 0; k < s->axis; k++) {
            const int32_t e = pl_q_exponential_s16(s, top - p[k * inner]) * up;
            const int32_t share = pl_shr_by(pl_rhmul(e, inverse.r * 16384), inverse.h);
            y[at + (k * inner)] = pl_requantize_s16(&s->out, share, s->m);
        }
    }
}

#endif
