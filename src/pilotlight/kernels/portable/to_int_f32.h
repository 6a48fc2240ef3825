#ifndef PL_TO_INT_F32_H
#define PL_TO_INT_F32_H

#include <stdint.h>

/* Toward zero. What has no place in the type, NaN included, becomes its lowest value, as PyTorch has it on x86;
 * C leaves it undefined and cores differ. */
static inline int32_t pl_to_i32_f32(float x)
{
    return ((x >= -2147483648.0f) && (x < 2147483648.0f)) ? (int32_t)x : INT32_MIN;
}

static inline int64_t pl_to_i64_f32(float x)
{
    return ((x >= -9223372036854775808.0f) && (x < 9223372036854775808.0f)) ? (int64_t)x : INT64_MIN;
}

#endif
