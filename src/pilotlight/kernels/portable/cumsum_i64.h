#ifndef PL_CUMSUM_I64_H
#define PL_CUMSUM_I64_H

#include <stdint.h>

/* Running sums along the middle of (outer, axis, inner), lane by lane, wrapping around. */
static inline void pl_cumsum_i64(const int64_t *x, int64_t *y, int32_t outer, int32_t axis, int32_t inner)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            const int64_t *in = &x[(o * axis * inner) + i];
            int64_t *out = &y[(o * axis * inner) + i];
            uint64_t total = 0u;
            for (int32_t k = 0; k < axis; k++) {
                total += (uint64_t)in[k * inner];
                out[k * inner] = (int64_t)total;
            }
        }
    }
}

#endif
