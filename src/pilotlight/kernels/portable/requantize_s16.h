#ifndef PL_REQUANTIZE_S16_H
#define PL_REQUANTIZE_S16_H

#include "integer.h"
#include "requantize.h"

static inline int16_t pl_requantize_s16(const pl_requantize_t *q, int32_t acc, int32_t m)
{
    return (int16_t)pl_requantize(q, acc, m);
}

/* (v + 2^(down-1)) >> down for 1 <= down < 32, where the result is known to fit 32 bits. */
static inline int32_t pl_q_down(int64_t v, int32_t down)
{
    const uint64_t t = (uint64_t)v + (1u << pl_unsigned(down - 1));
    return pl_signed(((uint32_t)t >> (uint32_t)down) | ((uint32_t)(t >> 32) << pl_unsigned(32 - down)));
}

#endif
