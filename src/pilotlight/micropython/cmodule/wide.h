/* int64 and float32 into each other: on 32-bit machines the compiler's library takes double for it, and 1 KB. */
#ifndef PT_WIDE_H
#define PT_WIDE_H

#include <stdint.h>
#include <string.h>

#include "py/mpconfig.h"
#include "to_int_f32.h"

#if UINTPTR_MAX > 0xffffffffu

static inline int64_t pt_to_int(float x) { return pl_to_i64_f32(x); }
static inline float pt_to_float(int64_t x) { return (float)x; }

#else

/* Toward zero; what has no place in the type, NaN included, becomes its lowest value. */
static inline int64_t pt_to_int(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    const int shift = (int)(bits >> 23 & 255) - 150;
    const uint64_t mantissa = (bits & 0x7fffffu) | 0x800000u;
    if (shift > 39) {
        return INT64_MIN;
    }
    const uint64_t size = shift >= 0 ? mantissa << shift : shift > -24 ? mantissa >> -shift : 0;
    return bits >> 31 ? -(int64_t)size : (int64_t)size;
}

/* To nearest: 32 bits of which the last stands for all that are cut off round as the whole number would. */
static inline float pt_to_float(int64_t x)
{
    const uint64_t size = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    const uint32_t high = (uint32_t)(size >> 32);
    const int shift = high ? 32 - __builtin_clz(high) : 0;
    const uint32_t kept = (uint32_t)(size >> shift);
    const uint32_t bits = (uint32_t)(127 + shift) << 23;
    float scale;
    memcpy(&scale, &bits, sizeof(scale));
    const float y = (float)(kept | (((uint64_t)kept << shift) != size)) * scale;
    return x < 0 ? -y : y;
}

#endif

/* The same for MicroPython's numbers, which may be double. */
#if MICROPY_FLOAT_IMPL == MICROPY_FLOAT_IMPL_FLOAT
static inline int64_t pt_whole(mp_float_t x) { return pt_to_int(x); }
static inline mp_float_t pt_number(int64_t x) { return pt_to_float(x); }
#else
static inline int64_t pt_whole(mp_float_t x)
{
    return x >= (mp_float_t)INT64_MIN && x < -(mp_float_t)INT64_MIN ? (int64_t)x : INT64_MIN;
}
static inline mp_float_t pt_number(int64_t x) { return (mp_float_t)x; }
#endif

#endif
