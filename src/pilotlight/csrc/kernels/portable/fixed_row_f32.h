#ifndef PL_FIXED_ROW_F32_H
#define PL_FIXED_ROW_F32_H

#include <stdint.h>

typedef union {
    float f;
    uint32_t u;
} pl_fixed_bits;

enum { PL_FIXED_LEAST = 40, PL_FIXED_NONE = 255 };

/* The exponent, as floats store it, of the largest of n numbers: all are below 2^(e - 126). PL_FIXED_NONE where one
 * is infinite or no number; never below PL_FIXED_LEAST, so that units are floats too. */
static inline int32_t pl_fixed_exponent(const float *x, int32_t n)
{
    uint32_t most = (uint32_t)PL_FIXED_LEAST << 23;
    for (int32_t k = 0; k < n; k++) {
        const pl_fixed_bits v = {x[k]};
        const uint32_t size = v.u & 0x7fffffffu;
        most = size > most ? size : most;
    }
    return (int32_t)(most >> 23);
}

/* n numbers below 2^(e - 126) as integers of at most `bits` <= 30 bits in units of 2^(e - 126 - bits), rounded to the
 * nearest, halves away from zero. */
static inline void pl_fixed_row(const float *x, int32_t n, int32_t e, int32_t bits, int32_t *q)
{
    for (int32_t k = 0; k < n; k++) {
        const pl_fixed_bits v = {x[k]};
        const int32_t stored = (int32_t)((v.u >> 23) & 255u);
        const uint32_t hidden = stored ? 0x20000000u : 0u;
        const uint32_t size = hidden | ((v.u & 0x7fffffu) << 6); // in units of 2^(exponent - 156)
        const int32_t shift = e - (stored ? stored : 1) + 30 - bits;
        const uint32_t half = shift < 31 ? (1u << shift) >> 1 : 0u;
        const int32_t rounded = shift < 31 ? (int32_t)((size + half) >> shift) : 0;
        q[k] = v.u >> 31 ? -rounded : rounded;
    }
}

/* 2^(power) as a float, for powers of normal numbers. */
static inline float pl_fixed_unit(int32_t power)
{
    pl_fixed_bits v;
    v.u = (uint32_t)(power + 127) << 23;
    return v.f;
}

/* A sum as a float: two halves, so that no 64-bit conversion is called; the lower one is signed, so that small sums
 * are exact. */
static inline float pl_fixed_sum(int64_t sum)
{
    const int32_t low = (int32_t)(uint32_t)(uint64_t)sum;
    const int32_t high = (int32_t)((sum - low) >> 32);
    return (float)high * 4294967296.0f + (float)low;
}

/* The part of an activation that comes before pl_limit_f32; NaN stays NaN. */
static inline float pl_fixed_output(float y, int32_t relu)
{
    return relu && y < 0.0f ? 0.0f : y;
}

#endif
