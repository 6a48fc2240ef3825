#ifndef PL_Q_MEAN_S16_H
#define PL_Q_MEAN_S16_H

#include "requantize_s16.h"

/* Means along the middle of x (outer, axis, inner) -> y (outer, inner): the sum requantized with m. A lane is read
 * before its result is written, so y may be x. */
static inline void pl_q_mean_s16(const pl_requantize_t *q, const int16_t *x_start, int16_t *y_start, int32_t outer,
                                 int32_t axis, int32_t inner, int32_t m)
{
    const int16_t *x = x_start;
    int16_t *y = y_start;
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            const int16_t *p = x + i;
            int32_t a = 0;
            for (int32_t n = axis; n > 0; n--) {
                a += *p;
                p = &p[inner];
            }
            y[i] = pl_requantize_s16(q, a, m);
        }
        x = &x[axis * inner];
        y = &y[inner];
    }
}

#endif
