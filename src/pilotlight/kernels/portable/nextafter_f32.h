#ifndef PL_NEXTAFTER_F32_H
#define PL_NEXTAFTER_F32_H

#include "bits_f32.h"

/* The float next to a in the direction of b. */
static inline float pl_nextafter_f32(float a, float b)
{
    const uint32_t bits = pl_bits(a);
    if ((a != a) || (b != b)) {
        return pl_nan();
    }
    if (a == b) {
        return b;
    }
    if (a == 0.0f) {
        return pl_from_bits((b > 0.0f) ? 1u : 0x80000001u);
    }
    return pl_from_bits(((a > 0.0f) == (b > a)) ? (bits + 1u) : (bits - 1u));
}

#endif
