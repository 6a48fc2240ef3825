#ifndef PL_RHMUL_H
#define PL_RHMUL_H

#include <stdint.h>

#include "integer.h"

/* The upper 32 bits of a 64-bit product, rounded: (int64(a) * b + 2^31) >> 32. One instruction with the DSP
 * extension, a long multiply elsewhere; Armv6-M has none, so 16-bit pieces, of which no sum overflows. */
static inline int32_t pl_rhmul(int32_t a, int32_t b)
{
#if defined(__GNUC__) && defined(__ARM_FEATURE_DSP) && defined(__ARM_ARCH_ISA_THUMB) && (__ARM_ARCH_ISA_THUMB == 2)
    int32_t y;
    __asm__("smmulr %0, %1, %2" : "=r"(y) : "r"(a), "r"(b));
    return y;
#elif (defined(__ARM_ARCH_ISA_THUMB) && (__ARM_ARCH_ISA_THUMB == 1)) || defined(PL_RHMUL_PIECES)
    const int32_t high_a = pl_shr(a, 16);
    const int32_t high_b = pl_shr(b, 16);
    const int32_t low_a = a & 0xffff;
    const int32_t low_b = b & 0xffff;
    const int32_t low = pl_signed(((uint32_t)low_a * (uint32_t)low_b) >> 16) + 0x8000;
    const int32_t one = (high_a * low_b) + low;
    const int32_t two = (low_a * high_b) + (one & 0xffff);
    return (high_a * high_b) + pl_shr(one, 16) + pl_shr(two, 16);
#else
    const int64_t product = (int64_t)a * b;
    const uint64_t bits = (uint64_t)product;
    const uint32_t half = (uint32_t)bits >> 31; // added here, which is cheaper than a sum of 64 bits
    return (int32_t)(uint32_t)(bits >> 32) + (int32_t)half;
#endif
}

#endif
