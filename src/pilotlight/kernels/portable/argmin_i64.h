#ifndef PL_ARGMIN_I64_H
#define PL_ARGMIN_I64_H

#include <stdint.h>

/* Where the smallest is along an axis: the first of equals. x (outer, axis, inner) -> y (outer, inner). */
static inline void pl_argmin_i64(const int64_t *x, int64_t *y, int32_t outer, int32_t axis, int32_t inner)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            const int64_t *lane = &x[(o * axis * inner) + i];
            int32_t at = 0;
            for (int32_t k = 1; k < axis; k++) {
                at = (lane[k * inner] < lane[at * inner]) ? k : at;
            }
            y[(o * inner) + i] = at;
        }
    }
}

#endif
