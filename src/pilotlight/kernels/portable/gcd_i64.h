#ifndef PL_GCD_I64_H
#define PL_GCD_I64_H

#include "number_i64.h"

/* The greatest common divisor, never negative; of zeros 0. */
static inline int64_t pl_gcd_i64(int64_t a, int64_t b)
{
    uint64_t x = (a < 0) ? (0u - (uint64_t)a) : (uint64_t)a;
    uint64_t y = (b < 0) ? (0u - (uint64_t)b) : (uint64_t)b;
    while (y != 0u) {
        const uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return (int64_t)x;
}

/* The least common multiple, never negative; with zero 0. */
static inline int64_t pl_lcm_i64(int64_t a, int64_t b)
{
    const int64_t g = pl_gcd_i64(a, b);
    const int64_t y = (g == 0) ? 0 : pl_mul_i64(a / g, b);
    return (y < 0) ? pl_signed64(0u - (uint64_t)y) : y;
}

#endif
