#ifndef PL_TRUNC_F32_H
#define PL_TRUNC_F32_H

#include "bits_f32.h"

/* Toward zero: the bits of the fraction are cut off. */
static inline float pl_trunc_f32(float x)
{
    const uint32_t u = pl_bits(x);
    const uint32_t e = (u >> 23) & 0xffu;
    float y = x; /* an integer already, infinite or NaN */
    if (e < 150u) {
        y = pl_from_bits((e < 127u) ? (u & 0x80000000u) : (u & ~(0x007fffffu >> (e - 127u))));
    }
    return y;
}

#endif
