#ifndef PL_RHMUL_H
#define PL_RHMUL_H

#include <stdint.h>

/* The upper 32 bits of a 64-bit product, rounded: (int64(a) * b + 2^31) >> 32. One instruction with the DSP
 * extension, a long multiply elsewhere; Armv6-M has none, so 16-bit pieces, of which no sum overflows. */
static inline int32_t pl_rhmul(int32_t a, int32_t b)
{
#if defined(__GNUC__) && defined(__ARM_FEATURE_DSP) && defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB == 2
    int32_t y;
    __asm__("smmulr %0, %1, %2" : "=r"(y) : "r"(a), "r"(b));
    return y;
#elif (defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB == 1) || defined(PL_RHMUL_PIECES)
    const int32_t ah = a >> 16;
    const int32_t bh = b >> 16;
    const int32_t al = a & 0xffff;
    const int32_t bl = b & 0xffff;
    const int32_t low = (int32_t)(((uint32_t)al * (uint32_t)bl) >> 16) + 0x8000;
    const int32_t one = (ah * bl) + low;
    const int32_t two = (al * bh) + (one & 0xffff);
    return (ah * bh) + (one >> 16) + (two >> 16);
#else
    const int64_t product = (int64_t)a * b;
    return (int32_t)(product >> 32) + (int32_t)((uint32_t)product >> 31); // cheaper than a sum of 64 bits
#endif
}

#endif
