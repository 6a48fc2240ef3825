#ifndef PL_BITS_F32_H
#define PL_BITS_F32_H

#include <stdint.h>

/* The bits of a float and back; a union is the way C99 allows without a call of memcpy. */
typedef union {
    float f;
    uint32_t u;
} pl_float_bits;

static inline uint32_t pl_bits(float x)
{
    pl_float_bits b;
    b.f = x;
    return b.u;
}

static inline float pl_from_bits(uint32_t u)
{
    pl_float_bits b;
    b.u = u;
    return b.f;
}

static inline float pl_inf(void) { return pl_from_bits(0x7f800000u); }

static inline float pl_nan(void) { return pl_from_bits(0x7fc00000u); }

/* The size of `a` with the sign of `s`. */
static inline float pl_copysign_f32(float a, float s)
{
    return pl_from_bits((pl_bits(a) & 0x7fffffffu) | (pl_bits(s) & 0x80000000u));
}

/* 2^n for -126 <= n <= 127. */
static inline float pl_pow2(int32_t n) { return pl_from_bits(((uint32_t)n + 127u) << 23); }

#endif
