#ifndef PL_TFLM_H
#define PL_TFLM_H

#include <stdint.h>

#include "integer.h"
#include "q_clamp.h"

/* TFLM's SaturatingRoundingDoublingHighMul: (int64(a) * b + 2^30) >> 31, where not both are the least of int32.
 * Armv6-M has no long multiply, so 16-bit pieces, of which no sum overflows. */
static inline int32_t pl_srdhm(int32_t a, int32_t b)
{
#if (defined(__ARM_ARCH_ISA_THUMB) && (__ARM_ARCH_ISA_THUMB == 1)) || defined(PL_RHMUL_PIECES)
    const int32_t high_a = pl_shr(a, 16);
    const int32_t high_b = pl_shr(b, 16);
    const int32_t low_a = a & 0xffff;
    const int32_t low_b = b & 0xffff;
    const int32_t one = (high_a * low_b) + pl_signed(((uint32_t)low_a * (uint32_t)low_b) >> 16);
    const int32_t two = (low_a * high_b) + (one & 0xffff);
    const uint32_t high = pl_unsigned((high_a * high_b) + pl_shr(one, 16) + pl_shr(two, 16));
    const uint32_t low = (uint32_t)a * (uint32_t)b;
#else
    const uint64_t bits = pl_unsigned64((int64_t)a * b);
    const uint32_t high = (uint32_t)(bits >> 32);
    const uint32_t low = (uint32_t)bits;
#endif
    return pl_signed((high << 1) + (((low >> 30) + 1u) >> 1));
}

/* TFLM's RoundingDivideByPOT: v / 2^n, half away from zero, 0 <= n <= 31. */
static inline int32_t pl_rdbpot(int32_t v, int32_t n)
{
    const uint32_t one = 1u;
    const uint32_t mask = (one << (uint32_t)n) - 1u;
    const uint32_t more = (((uint32_t)v & mask) > ((mask >> 1) + ((v < 0) ? 1u : 0u))) ? 1u : 0u;
    return pl_shr_by(v, n) + pl_signed(more);
}

/* TFLM's MultiplyByQuantizedMultiplier: acc * q * 2^(shift - 31), rounded twice. */
static inline int32_t pl_tflm_scaled(int32_t acc, int32_t q, int32_t shift)
{
    const int32_t left = (shift > 0) ? shift : 0;
    const int32_t right = (shift > 0) ? 0 : -shift;
    return pl_rdbpot(pl_srdhm(pl_signed((uint32_t)acc << (uint32_t)left), q), right);
}

/* An accumulator as an output: clamp(zy + acc * q * 2^(shift - 31), lo, hi). */
static inline int32_t pl_tflm_output(int32_t acc, int32_t q, int32_t shift, int32_t zy, int32_t lo, int32_t hi)
{
    return pl_q_clamp(pl_signed((uint32_t)pl_tflm_scaled(acc, q, shift) + (uint32_t)zy), lo, hi);
}

#endif
