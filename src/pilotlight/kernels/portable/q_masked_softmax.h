#ifndef PL_Q_MASKED_SOFTMAX_H
#define PL_Q_MASKED_SOFTMAX_H

#include <stdbool.h>

#include "integer.h"
#include "q_inverse.h"
#include "requantize.h"

/* Softmax along the middle of (outer, axis, inner) as pl_q_softmax, where elements take part only if `hidden` is 0.
 * hidden (period) repeats over x. A lane that is wholly hidden is uniform, as PyTorch's is when its numbers are all
 * equally low. y may be x. */
static inline void pl_q_masked_softmax(const pl_requantize_t *q, const int8_t *x, const uint8_t *hidden,
                                       const int32_t *table, int8_t *y, int32_t outer, int32_t axis, int32_t inner,
                                       int32_t period, int32_t length, int32_t bits, int32_t m)
{
    const int32_t up = pl_signed(1u << pl_unsigned(30 - bits));
    for (int32_t lane = 0; lane < (outer * inner); lane++) {
        const int32_t at = (lane / inner * axis * inner) + (lane % inner);
        const int8_t *p = x + at;
        pl_q_inverse_t inverse;
        int32_t top = -256;
        int32_t none;
        uint32_t sum = 0u;
        for (int32_t k = 0; k < axis; k++) {
            top = ((hidden[(at + (k * inner)) % period] == 0u) && (p[k * inner] > top)) ? p[k * inner] : top;
        }
        none = (top == -256) ? 1 : 0;
        for (int32_t k = 0; k < axis; k++) {
            const int32_t d = (none != 0) ? 0 : (top - p[k * inner]);
            const bool seen = (none != 0) || (hidden[(at + (k * inner)) % period] == 0u);
            sum += (seen && (d < length)) ? (uint32_t)table[d] : 0u;
        }
        inverse = pl_q_inverse(sum, bits);
        for (int32_t k = 0; k < axis; k++) {
            const int32_t d = (none != 0) ? 0 : (top - p[k * inner]);
            const bool seen = (none != 0) || (hidden[(at + (k * inner)) % period] == 0u);
            const int32_t e = (seen && (d < length)) ? (table[d] * up) : 0;
            y[at + (k * inner)] = pl_requantize_s8(q, pl_shr_by(pl_rhmul(e, inverse.r * 16384), inverse.h), m);
        }
    }
}

#endif
