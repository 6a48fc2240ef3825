#ifndef PL_ARGMAX_I8_H
#define PL_ARGMAX_I8_H

#include <stdint.h>

/* Where the largest is along an axis: the first of equals. x (outer, axis, inner) -> y (outer, inner). */
static inline void pl_argmax_i8(const int8_t *x_start, int64_t *y_start, int32_t outer, int32_t axis, int32_t inner)
{
    const int8_t *x = x_start;
    int64_t *y = y_start;
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            const int8_t *lane = x + i;
            int32_t top = *lane;
            int32_t at = 0;
            for (int32_t k = 1; k < axis; k++) {
                lane = &lane[inner];
                at = (*lane > top) ? k : at;
                top = (*lane > top) ? *lane : top;
            }
            *y = at;
            y++;
        }
        x = &x[axis * inner];
    }
}

#endif
