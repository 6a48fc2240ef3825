#ifndef PL_QUADRANT_F32_H
#define PL_QUADRANT_F32_H

#include "bits_f32.h"
#include "integer.h"

/* 2/pi in binary after one zero word, as far as the largest float needs it. */
static const uint32_t pl_two_over_pi[8] = {0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                                           0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};

/* 32 bits of 2/pi from bit `at` on. */
static inline uint32_t pl_two_over_pi_bits(int32_t at)
{
    const uint32_t high = pl_two_over_pi[pl_shr(at, 5)];
    const int32_t shift = at & 31;
    return (shift == 0) ? high
                        : ((high << (uint32_t)shift) | (pl_two_over_pi[pl_shr(at, 5) + 1] >> pl_unsigned(32 - shift)));
}

/* a = n pi/2 + r with |r| <= pi/4, for finite a >= pi/4; returns r, correctly rounded but for 2^-7 ulp, and
 * n modulo 4. The mantissa times those 96 bits of 2/pi that make the quadrant and its fraction; bits of
 * 2/pi above them add multiples of four quadrants. Right for every float, in integers. */
static inline float pl_quadrant_f32(float a_start, uint32_t *n)
{
    float a = a_start;
    const uint32_t u = pl_bits(a);
    const uint32_t m = (u & 0x007fffffu) | 0x00800000u;
    const int32_t at = (int32_t)(u >> 23) - 120;
    uint64_t part; /* in quadrants: 2 bits of integer, 62 of fraction */
    uint32_t negative;
    uint32_t high;
    int32_t e = -31;
    part = (uint64_t)(m * pl_two_over_pi_bits(at)) << 32;
    part += (uint64_t)m * pl_two_over_pi_bits(at + 32);
    part += ((uint64_t)m * pl_two_over_pi_bits(at + 64)) >> 32;
    *n = (uint32_t)((part + (UINT64_C(1) << 61)) >> 62) & 3u;
    part -= (uint64_t)*n << 62;
    negative = (uint32_t)(part >> 63);
    part = (negative != 0u) ? (0u - part) : part;
    for (; ((part >> 61) == 0u) && (e > -90); e--) { /* |fraction| <= 1/2: at most 62 bits */
        part <<= 1;
    }
    high = (uint32_t)(part >> 30);
    high = (uint32_t)(((uint64_t)high * 0xc90fdaa2u) >> 32); /* pi/2 in 31 bits of fraction */
    a = (float)high * pl_pow2(e);
    return (negative != 0u) ? -a : a;
}

/* sin r and cos r for |r| <= pi/4. */
static inline float pl_sin_near_f32(float r)
{
    const float z = r * r;
    float p = -1.95185994e-4f;
    p = (p * z) + 8.33219104e-3f;
    p = (p * z) - 1.66666552e-1f;
    return r + ((r * z) * p);
}

static inline float pl_cos_near_f32(float r)
{
    const float z = r * r;
    float p = 2.44306684e-5f;
    p = (p * z) - 1.38873013e-3f;
    p = (p * z) + 4.16666456e-2f;
    return 1.0f - ((0.5f * z) - ((z * z) * p));
}

#endif
