#ifndef PL_CUMSUM_F32_H
#define PL_CUMSUM_F32_H

#include <stdint.h>

/* Running sums along the middle of (outer, axis, inner), lane by lane. Every 32 terms enter a base of their own,
 * so that the error does not grow with every term. */
static inline void pl_cumsum_f32(const float *x, float *y, int32_t outer, int32_t axis, int32_t inner)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            const float *in = x + ((o * axis * inner) + i);
            float *out = y + ((o * axis * inner) + i);
            float base = 0.0f;
            float part = 0.0f;
            for (int32_t k = 0; k < axis; k++) {
                part += in[k * inner];
                out[k * inner] = base + part;
                if ((k & 31) == 31) {
                    base += part;
                    part = 0.0f;
                }
            }
        }
    }
}

#endif
