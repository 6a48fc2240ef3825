#ifndef PL_ARGMAX_F32_H
#define PL_ARGMAX_F32_H

#include <stdbool.h>
#include <stdint.h>

/* Where the largest is along an axis: the first of equals, and the first NaN before everything else.
 * x (outer, axis, inner) -> y (outer, inner). */
static inline void pl_argmax_f32(const float *x, int64_t *y, int32_t outer, int32_t axis, int32_t inner)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            const float *lane = x + ((o * axis * inner) + i);
            float best = lane[0];
            bool number = best == best;
            int32_t at = 0;
            for (int32_t k = 1; (k < axis) && number; k++) {
                const float v = lane[k * inner];
                if ((v > best) || (v != v)) {
                    best = v;
                    at = k;
                    number = v == v;
                }
            }
            y[(o * inner) + i] = at;
        }
    }
}

#endif
