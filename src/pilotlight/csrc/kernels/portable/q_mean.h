#ifndef PL_Q_MEAN_H
#define PL_Q_MEAN_H

#include "q_clamp.h"

/* Means along the middle of x (outer, axis, inner) -> y (outer, inner), four lanes at a time: the sum, which begins
 * with `begin`, requantized with m. A lane is read before its result is written, so y may be x. */
static inline void pl_q_mean(const pl_q_out_t *q, const int8_t *x, int8_t *y, int32_t outer, int32_t axis,
                             int32_t inner, int32_t begin, int32_t m)
{
    for (int32_t o = 0; o < outer; o++, x += axis * inner, y += inner) {
        int32_t i = 0;
        for (; i + 4 <= inner; i += 4) {
            const int8_t *p = x + i;
            int32_t a0 = begin, a1 = begin, a2 = begin, a3 = begin;
            for (int32_t n = axis; n > 0; n--, p += inner) {
                a0 += p[0];
                a1 += p[1];
                a2 += p[2];
                a3 += p[3];
            }
            y[i] = pl_q_out(q, a0, m);
            y[i + 1] = pl_q_out(q, a1, m);
            y[i + 2] = pl_q_out(q, a2, m);
            y[i + 3] = pl_q_out(q, a3, m);
        }
        for (; i < inner; i++) {
            const int8_t *p = x + i;
            int32_t a = begin;
            for (int32_t n = axis; n > 0; n--, p += inner) {
                a += *p;
            }
            y[i] = pl_q_out(q, a, m);
        }
    }
}

#endif
