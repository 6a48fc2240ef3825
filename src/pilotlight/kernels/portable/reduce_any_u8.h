#ifndef PL_REDUCE_ANY_U8_H
#define PL_REDUCE_ANY_U8_H

#include <stdint.h>

/* Whether any is true along an axis (bytes of 0 and 1). x (outer, axis, inner) -> y (outer, inner), walked in y's
 * order: a lane is read before its result is written, so y may lie on x. */
static inline void pl_reduce_any_u8(const uint8_t *x, uint8_t *y, int32_t outer, int32_t axis, int32_t inner)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            const uint8_t *lane = x + ((o * axis * inner) + i);
            uint8_t found = 0u;
            for (int32_t k = 0; k < axis; k++) {
                found = (lane[k * inner] != 0u) ? 1u : found;
            }
            y[(o * inner) + i] = found;
        }
    }
}

#endif
