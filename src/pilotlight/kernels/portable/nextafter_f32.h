#ifndef PL_NEXTAFTER_F32_H
#define PL_NEXTAFTER_F32_H

#include "bits_f32.h"

/* The float next to a in the direction of b. */
static inline float pl_nextafter_f32(float a, float b)
{
    const uint32_t bits = pl_bits(a);
    float y;
    if ((a != a) || (b != b)) {
        y = pl_nan();
    } else if (a == b) {
        y = b;
    } else if (a == 0.0f) {
        y = pl_from_bits((b > 0.0f) ? 1u : 0x80000001u);
    } else {
        y = pl_from_bits(((a > 0.0f) == (b > a)) ? (bits + 1u) : (bits - 1u));
    }
    return y;
}

#endif
