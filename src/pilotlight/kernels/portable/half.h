#ifndef PL_HALF_H
#define PL_HALF_H

#include "bits_f32.h"

/* float16 and bfloat16 are stored as their bits and computed with as float32. Exact. */
static inline float pl_from_f16(uint16_t h)
{
    const uint32_t bits = h;
    const uint32_t rest = bits & 0x7fffu;
    uint32_t u;
    if (rest < 0x400u) { // zero or denormal: a multiple of 2^-24
        u = pl_bits((float)rest * pl_pow2(-24));
    } else {
        u = (rest << 13) + ((rest < 0x7c00u) ? 0x38000000u : 0x70000000u);
    }
    return pl_from_bits(((bits & 0x8000u) << 16) | u);
}

/* Rounds to the nearest, ties to even; from 65520 on infinity. */
static inline uint16_t pl_to_f16(float x)
{
    const uint32_t bits = pl_bits(x);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    uint32_t u = bits & 0x7fffffffu;
    if (u >= 0x47800000u) {
        u = (u > 0x7f800000u) ? 0x7e00u : 0x7c00u;
    } else if (u < 0x38800000u) { // denormal: adding one half leaves a multiple of 2^-24 in the last bits
        u = pl_bits(pl_from_bits(u) + 0.5f) - 0x3f000000u;
    } else {
        u = (u - 0x38000000u + 0xfffu + ((u >> 13) & 1u)) >> 13;
    }
    return (uint16_t)(sign | u);
}

static inline float pl_from_bf16(uint16_t h) { return pl_from_bits((uint32_t)h << 16); }

static inline uint16_t pl_to_bf16(float x)
{
    const uint32_t u = pl_bits(x);
    return (uint16_t)(((u & 0x7fffffffu) > 0x7f800000u) ? 0x7fc0u : ((u + 0x7fffu + ((u >> 16) & 1u)) >> 16));
}

#endif
