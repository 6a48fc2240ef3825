#ifndef PL_TWICE_S8_H
#define PL_TWICE_S8_H

#include "integer.h"
#include "requantize.h"

/* How often an accumulator is rounded: once as requantize.h has it, or twice as TFLM does. Then q.zy is 2 zy + 1,
 * |acc| < 2^30, and `right` one less than the bits to the right; PL_TWICE_NUDGED has half away from zero for negative
 * ones too. */
enum { PL_ONCE = 0, PL_TWICE = 1, PL_TWICE_NUDGED = 2 };

static inline int8_t pl_rounded_s8(const pl_requantize_t *q, int32_t rounding, int32_t acc, int32_t m, int32_t right)
{
    int8_t y;
    if (rounding == PL_ONCE) {
        y = pl_requantize_s8(q, acc, m);
    } else {
        const int32_t nudge = ((rounding == PL_TWICE_NUDGED) && (acc < 0)) ? 1 : 0;
        const int32_t offset = pl_signed((uint32_t)q->zy << (uint32_t)right) - nudge;
        const int32_t v = pl_shr_by(pl_rhmul(acc * 2, m) + offset, right);
        y = (int8_t)pl_q_clamp(pl_shr(v, 1), q->lo, q->hi);
    }
    return y;
}

#endif
