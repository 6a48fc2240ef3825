#ifndef PL_Q_TFLM_POOL2D_H
#define PL_Q_TFLM_POOL2D_H

#include "pool2d.h"
#include "q_clamp.h"

/* A pooling of int8 or int16. */
typedef struct {
    pl_pool2d_t pool;
    int32_t lo;
    int32_t hi;
} pl_q_tflm_pool2d_t;

/* v / n, half away from zero; |v| <= 2^24, 0 < n <= 2^16. Armv6-M has no division. */
static inline int32_t pl_q_average(int32_t v, int32_t n)
{
    const uint32_t size = (uint32_t)n;
    const uint32_t half = size >> 1;
    uint32_t rest = ((v < 0) ? (0u - (uint32_t)v) : (uint32_t)v) + half;
#if defined(__ARM_ARCH_ISA_THUMB) && (__ARM_ARCH_ISA_THUMB == 1)
    uint32_t quotient = 0u;
    uint32_t bit = 1u;
    uint32_t part = size;
    while (part <= (rest >> 1)) {
        part <<= 1;
        bit <<= 1;
    }
    for (; bit != 0u; bit >>= 1) {
        if (rest >= part) {
            rest -= part;
            quotient += bit;
        }
        part >>= 1;
    }
#else
    const uint32_t quotient = rest / size;
#endif
    return (v < 0) ? -(int32_t)quotient : (int32_t)quotient;
}

#endif
