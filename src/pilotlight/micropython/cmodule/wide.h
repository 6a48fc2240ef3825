/* Conversion between int64 and float32: on 32-bit machines the compiler's library uses double, and 1 KB. */
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

int64_t pt_to_int(float x);   /* toward zero; what does not fit the type, NaN included, becomes its lowest value */
float pt_to_float(int64_t x); /* to nearest */

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
