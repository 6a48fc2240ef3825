#ifndef PL_SQRT_F32_H
#define PL_SQRT_F32_H

#include "bits_f32.h"
#include "integer.h"

/* The square root, correctly rounded: the core's own instruction, or one bit of the root at a time.
 * PILOTLIGHT_PORTABLE asks for the latter everywhere. */
#if defined(__GNUC__) && defined(__ARM_FP) && (__ARM_FP & 4) && !defined(__aarch64__) && !defined(PILOTLIGHT_PORTABLE)
static inline float pl_sqrt_f32(float x)
{
    float y;
    __asm__("vsqrt.f32 %0, %1" : "=t"(y) : "t"(x));
    return y;
}
#elif defined(__GNUC__) && defined(__SSE__) && !defined(PILOTLIGHT_PORTABLE)
static inline float pl_sqrt_f32(float x)
{
    float y;
    __asm__("sqrtss %1, %0" : "=x"(y) : "x"(x));
    return y;
}
#elif defined(__GNUC__) && defined(__riscv_flen) && !defined(PILOTLIGHT_PORTABLE)
static inline float pl_sqrt_f32(float x)
{
    float y;
    __asm__("fsqrt.s %0, %1" : "=f"(y) : "f"(x));
    return y;
}
#elif defined(__GNUC__) && defined(__aarch64__) && !defined(PILOTLIGHT_PORTABLE)
static inline float pl_sqrt_f32(float x)
{
    float y;
    __asm__("fsqrt %s0, %s1" : "=w"(y) : "w"(x));
    return y;
}
#else
static inline float pl_sqrt_f32(float x)
{
    float y = (x < 0.0f) ? pl_nan() : x; /* keeps both zeros, inf and NaN */
    if ((x > 0.0f) && (x < pl_inf())) {
        uint32_t u = pl_bits(x);
        uint32_t rest;
        uint32_t root = 0u;
        int32_t e = 0;
        if (u < 0x00800000u) { /* denormal */
            u = pl_bits(x * 16777216.0f);
            e = -24;
        }
        e += (int32_t)(u >> 23) - 127;
        rest = ((u & 0x007fffffu) | 0x00800000u) << pl_unsigned(1 + (e & 1));
        e = (e - (e & 1)) / 2;
        u = 0u;
        /* 24 bits and one more to round by: root^2 <= mantissa < (root + 1)^2 holds after each bit. */
        for (uint32_t bit = 0x01000000u; bit != 0u; bit >>= 1) {
            const uint32_t trial = u + bit;
            if (trial <= rest) {
                u = trial + bit;
                rest -= trial;
                root += bit;
            }
            rest <<= 1;
        }
        if (rest != 0u) {
            root += root & 1u; /* never half way between two floats */
        }
        y = pl_from_bits((root >> 1) + (((uint32_t)e + 126u) << 23));
    }
    return y;
}
#endif

#endif
