#ifndef PL_FIXED_ROW_F32_H
#define PL_FIXED_ROW_F32_H

#include <stdint.h>

#include "bits_f32.h"
#include "integer.h"
#include "mem.h"

enum { PL_FIXED_LEAST = 40, PL_FIXED_NONE = 255 };

/* The exponent, as floats store it, of the largest of n numbers: all are below 2^(e - 126). PL_FIXED_NONE where one
 * is infinite or NaN; never below PL_FIXED_LEAST, so that units are floats too. */
static inline int32_t pl_fixed_exponent(const float *x, int32_t n)
{
    uint32_t most = (uint32_t)PL_FIXED_LEAST << 23;
    for (int32_t k = 0; k < n; k++) {
        const uint32_t size = pl_bits(x[k]) & 0x7fffffffu;
        most = (size > most) ? size : most;
    }
    return (int32_t)(most >> 23);
}

/* A number below 2^(e - 126) as an integer of at most `bits` <= 30 bits in units of 2^(e - 126 - bits), rounded to the
 * nearest, ties away from zero. */
static inline int32_t pl_fixed(float x, int32_t e, int32_t bits)
{
    const uint32_t u = pl_bits(x);
    const int32_t stored = pl_signed((u >> 23) & 255u);
    const uint32_t hidden = (stored != 0) ? 0x20000000u : 0u;
    const uint32_t size = hidden | ((u & 0x7fffffu) << 6); // in units of 2^(exponent - 156)
    const int32_t shift = e - ((stored != 0) ? stored : 1) + 30 - bits;
    const uint32_t down = (shift < 31) ? (uint32_t)shift : 31u; // 31 bits leave nothing: no size has more than 30
    const uint32_t half = (shift < 31) ? ((0x80000000u >> (31u - down)) >> 1) : 0u;
    const int32_t rounded = pl_signed((size + half) >> down);
    return ((u >> 31) != 0u) ? -rounded : rounded;
}

/* n sums that nothing has been added to yet. */
static inline void pl_fixed_clear(int64_t *sum, int32_t n)
{
    for (int32_t k = 0; k < n; k++) {
        PL_BARRIER(sum);
        sum[k] = 0;
    }
}

/* sum * 2^power, rounded once, to the nearest, ties to even; power is at least -126. Integers alone: a conversion from
 * 64 bits would be a call, and two of 32 bits are slow without hardware for floats. */
static inline float pl_fixed_float(int64_t sum, int32_t power)
{
    const uint64_t size = (sum < 0) ? (0u - (uint64_t)sum) : (uint64_t)sum;
    uint32_t high = (uint32_t)(size >> 32);
    uint32_t low = (uint32_t)size;
    int32_t e = power + 127 + 63;
    int32_t shift = 0;
    uint32_t u = 0u;
    if (high == 0u) {
        high = low;
        low = 0u;
        e -= 32;
    }
    if (high != 0u) {
#if defined(__GNUC__) && defined(__ARM_FEATURE_CLZ)
        shift = __builtin_clz(high);
#else
        for (int32_t step = 16; step > 0; step /= 2) {
            if (((high << (uint32_t)shift) >> pl_unsigned(32 - step)) == 0u) {
                shift += step;
            }
        }
#endif
        if (shift > 0) {
            high = (high << (uint32_t)shift) | (low >> pl_unsigned(32 - shift));
            low <<= (uint32_t)shift;
        }
        e -= shift;
        u = ((uint32_t)e << 23) + ((high >> 8) - 0x800000u);
        u += (((high & 0xffu) > 0x80u) || (((high & 0xffu) == 0x80u) && ((low != 0u) || ((u & 1u) != 0u)))) ? 1u : 0u;
        u = ((e >= 255) ? 0x7f800000u : u) | ((sum < 0) ? 0x80000000u : 0u);
    }
    return pl_from_bits(u);
}

/* What is left to do for an output; NaN stays NaN. */
static inline float pl_fixed_output(float sum, float bias, int32_t relu)
{
    const float y = sum + bias;
    return ((relu != 0) && (y < 0.0f)) ? 0.0f : y;
}

#endif
