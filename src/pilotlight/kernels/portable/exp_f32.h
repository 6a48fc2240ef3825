#ifndef PL_EXP_F32_H
#define PL_EXP_F32_H

#include "bits_f32.h"
#include "integer.h"

#if defined(__GNUC__)
#define PL_COLD __attribute__((noinline, cold))
#else
#define PL_COLD
#endif

/* x = n ln 2 + r with |r| <= ln(2)/2; returns e^r - 1. n comes from adding 1.5 * 2^23, which leaves the
 * rounded integer in the low bits of `*shifted`: no conversion that a NaN could break. Wants -104 <= x <= 89. */
static inline float pl_exp_reduced(float x, float *shifted)
{
    const float t = (x * 1.44269504f) + 12582912.0f;
    const float k = t - 12582912.0f;
    const float r = (x - (k * 0.693145752f)) - (k * 1.42860677e-6f); /* ln 2 in two parts, the first exact */
    float q = 1.39395122e-3f;
    q = (q * r) + 8.36882275e-3f;
    q = (q * r) + 4.16664146e-2f;
    q = (q * r) + 1.66665196e-1f;
    q = (q * r) + 0.5f;
    *shifted = t;
    return r + ((r * r) * q);
}

/* The integer that a sum with 1.5 * 2^23 holds. */
static inline int32_t pl_shifted_integer(float shifted) { return pl_signed(pl_bits(shifted) - 0x4b400000u); }

/* a * 2^n in two factors, so that the result may be infinite, zero or denormal, rounded once. */
static inline float pl_scale_f32(float a, int32_t n)
{
    const int32_t half = pl_shr(n, 1);
    return (a * pl_pow2(half)) * pl_pow2(n - half);
}

/* e^x for |x| >= 87 and NaN from y = e^r and n, kept out of what is inlined everywhere. */
static PL_COLD float pl_exp_edge_f32(float x, float y, int32_t n)
{
    return (x > 89.0f) ? pl_inf() : (x < -104.0f) ? 0.0f : pl_scale_f32(y, n);
}

/* e^x, at most 1.1 ulp from the exact value. Where the result is a normal number, n goes straight into its
 * exponent: only n's low bits are left after the shift. */
static inline float pl_exp_f32(float x)
{
    float shifted;
    float y = 1.0f + pl_exp_reduced(x, &shifted);
    if ((pl_bits(x) & 0x7fffffffu) >= 0x42ae0000u) {
        y = pl_exp_edge_f32(x, y, pl_shifted_integer(shifted));
    } else {
        y = pl_from_bits(pl_bits(y) + (pl_bits(shifted) << 23));
    }
    return y;
}

/* The same for |x| < 87. */
static inline float pl_exp_inner_f32(float x)
{
    float shifted;
    const float y = 1.0f + pl_exp_reduced(x, &shifted);
    return pl_from_bits(pl_bits(y) + (pl_bits(shifted) << 23));
}

#endif
