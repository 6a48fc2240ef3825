#ifndef PL_TFLM_WIDE_H
#define PL_TFLM_WIDE_H

#include "tflm.h"

/* (acc * m + 2^(14 - shift)) >> (15 - shift) for |acc| < 2^47, 0 <= m < 2^15 and a result of 32 bits. A product of
 * 16-bit pieces and shifts of 32 bits: no library function. */
static inline int32_t pl_tflm_scaled_wide(int64_t acc, int32_t m, int32_t shift)
{
    const uint32_t one = 1u;
    const uint32_t total = pl_unsigned(15 - shift);
    const uint64_t bits = pl_unsigned64(acc);
    const uint32_t low = (uint32_t)bits;
    const uint32_t high = (uint32_t)(bits >> 32);
    const uint32_t factor = (uint32_t)m;
    const uint32_t first = (low & 0xffffu) * factor;
    const uint32_t second = (low >> 16) * factor;
    const uint32_t third = high * factor;
    uint64_t product = (uint64_t)first + ((uint64_t)second << 16) + ((uint64_t)third << 32);
    int32_t y;
    if (total > 32u) {
        const uint32_t half = one << (total - 33u);
        product += (uint64_t)half << 32;
        y = pl_shr_by(pl_signed((uint32_t)(product >> 32)), pl_signed(total - 32u));
    } else {
        const uint32_t half = one << (total - 1u);
        product += (uint64_t)half;
        y = pl_signed((uint32_t)(product >> 32));
        if (total < 32u) {
            y = pl_signed(((uint32_t)product >> total) | ((uint32_t)(product >> 32) << (32u - total)));
        }
    }
    return y;
}

#endif
