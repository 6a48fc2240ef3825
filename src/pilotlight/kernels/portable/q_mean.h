#ifndef PL_Q_MEAN_H
#define PL_Q_MEAN_H

#include "q_sum.h"
#include "requantize.h"

/* Means along the middle of x (outer, axis, inner) -> y (outer, inner), four lanes at a time: the sum, which begins
 * with `begin`, requantized with m. A lane is read before its result is written, so y may be x. */
static inline void pl_q_mean(const pl_requantize_t *q, const int8_t *x_start, int8_t *y_start, int32_t outer,
                             int32_t axis, int32_t inner, int32_t begin, int32_t m)
{
    const int8_t *x = x_start;
    int8_t *y = y_start;
    for (int32_t o = 0; o < outer; o++) {
        const int32_t fours = inner & ~3;
        for (int32_t i = 0; i < fours; i += 4) {
            pl_q_sums_t s = {{begin, begin, begin, begin}};
            pl_q_sum4(&s, x + i, axis, inner);
            for (int32_t k = 0; k < 4; k++) {
                y[i + k] = pl_requantize_s8(q, s.a[k], m);
            }
        }
        for (int32_t i = fours; i < inner; i++) {
            const int8_t *p = x + i;
            int32_t a = begin;
            for (int32_t n = axis; n > 0; n--) {
                a += *p;
                p = &p[inner];
            }
            y[i] = pl_requantize_s8(q, a, m);
        }
        x = &x[axis * inner];
        y = &y[inner];
    }
}

#endif
