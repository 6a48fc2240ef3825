#ifndef PL_Q_CUMSUM_H
#define PL_Q_CUMSUM_H

#include "requantize.h"

/* Running sums of x - zero along the middle of (outer, axis, inner), each requantized with m; lane by lane. */
static inline void pl_q_cumsum(const pl_requantize_t *q, const int8_t *x, int8_t *y, int32_t outer, int32_t axis,
                               int32_t inner, int32_t zero, int32_t m)
{
    for (int32_t lane = 0; lane < (outer * inner); lane++) {
        const int32_t at = (lane / inner * axis * inner) + (lane % inner);
        int32_t sum = 0;
        for (int32_t k = 0; k < axis; k++) {
            sum += x[at + (k * inner)] - zero;
            y[at + (k * inner)] = pl_requantize_s8(q, sum, m);
        }
    }
}

#endif
