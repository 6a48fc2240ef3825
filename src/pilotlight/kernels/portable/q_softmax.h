#ifndef PL_Q_SOFTMAX_H
#define PL_Q_SOFTMAX_H

#include "integer.h"
#include "q_inverse.h"
#include "requantize.h"

/* Softmax along the middle of (outer, axis, inner), lane by lane; y may be x. The table (length) holds
 * e^(-d * scale) * 2^bits for a distance d from the lane's largest; beyond it is 0. A probability is
 * rhmul(e * 2^(30-bits), r * 2^14) >> h, in units of 2^-28; m brings it to y's scale. */
static inline void pl_q_softmax(const pl_requantize_t *q, const int8_t *x, const int32_t *table, int8_t *y,
                                int32_t outer, int32_t axis, int32_t inner, int32_t length, int32_t bits, int32_t m)
{
    const int32_t up = pl_signed(1u << pl_unsigned(30 - bits));
    for (int32_t lane = 0; lane < (outer * inner); lane++) {
        const int32_t at = (lane / inner * axis * inner) + (lane % inner);
        const int8_t *p = x + at;
        pl_q_inverse_t inverse;
        int32_t top = -128;
        uint32_t sum = 0u;
        for (int32_t k = 0; k < axis; k++) {
            top = (p[k * inner] > top) ? p[k * inner] : top;
        }
        for (int32_t k = 0; k < axis; k++) {
            const int32_t d = top - p[k * inner];
            sum += (d < length) ? (uint32_t)table[d] : 0u;
        }
        inverse = pl_q_inverse(sum, bits);
        for (int32_t k = 0; k < axis; k++) {
            const int32_t d = top - p[k * inner];
            const int32_t e = (d < length) ? (table[d] * up) : 0;
            const int32_t share = pl_shr_by(pl_rhmul(e, inverse.r * 16384), inverse.h);
            y[at + (k * inner)] = pl_requantize_s8(q, share, m);
        }
    }
}

#endif
