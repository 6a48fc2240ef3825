#ifndef PL_REDUCE_AMIN_I64_H
#define PL_REDUCE_AMIN_I64_H

#include <stdint.h>

/* The smallest along an axis. x (outer, axis, inner) -> y (outer, inner), walked in y's order: a lane is read before
 * its result is written, so y may lie on x. */
static inline void pl_reduce_amin_i64(const int64_t *x, int64_t *y, int32_t outer, int32_t axis, int32_t inner)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            const int64_t *lane = &x[(o * axis * inner) + i];
            int64_t low = lane[0];
            for (int32_t k = 1; k < axis; k++) {
                low = (lane[k * inner] < low) ? lane[k * inner] : low;
            }
            y[(o * inner) + i] = low;
        }
    }
}

#endif
