#ifndef PL_REDUCE_AMAX_I8_H
#define PL_REDUCE_AMAX_I8_H

#include <stdint.h>

/* The largest along an axis. x (outer, axis, inner) -> y (outer, inner), walked in y's order: a lane is read before its
 * result is written, so y may lie on x. */
static inline void pl_reduce_amax_i8(const int8_t *x_start, int8_t *y_start, int32_t outer, int32_t axis, int32_t inner)
{
    const int8_t *x = x_start;
    int8_t *y = y_start;
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            const int8_t *lane = x + i;
            int32_t top = *lane;
            for (int32_t k = 1; k < axis; k++) {
                lane = &lane[inner];
                top = (*lane > top) ? *lane : top;
            }
            *y = (int8_t)top;
            y++;
        }
        x = &x[axis * inner];
    }
}

#endif
