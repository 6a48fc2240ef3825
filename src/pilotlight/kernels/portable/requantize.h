#ifndef PL_REQUANTIZE_H
#define PL_REQUANTIZE_H

#include <stdbool.h>

#include "integer.h"
#include "q_clamp.h"
#include "rhmul.h"

/* What becomes of an accumulator: shifted left, multiplied, moved to the zero point, limited. */
typedef struct {
    int32_t zy;    // zero point of the output
    int32_t shift; // to the left, of the accumulator
    int32_t lo;    // limits of the output
    int32_t hi;
} pl_requantize_t;

/* One accumulator before it is limited: zy + rhmul(acc << shift, m). */
static inline int32_t pl_requantize_wide(const pl_requantize_t *q, int32_t acc, int32_t m)
{
    return pl_rhmul(pl_signed((uint32_t)acc << (uint32_t)q->shift), m) + q->zy;
}

/* One accumulator as an output: clamp(zy + rhmul(acc << shift, m), lo, hi). */
static inline int32_t pl_requantize(const pl_requantize_t *q, int32_t acc, int32_t m)
{
    return pl_q_clamp(pl_requantize_wide(q, acc, m), q->lo, q->hi);
}

/* The same as an int8. Where the compiler knows that the limits are those of the type, one instruction may do. */
static inline int8_t pl_requantize_s8(const pl_requantize_t *q, int32_t acc, int32_t m)
{
    int8_t y;
#if defined(__GNUC__) && defined(__ARM_FEATURE_SAT)
    const bool whole = (q->lo == -128) && (q->hi == 127);
    if ((__builtin_constant_p(whole) != 0) && whole) {
        y = pl_q_sat8(pl_requantize_wide(q, acc, m));
    } else {
        y = (int8_t)pl_requantize(q, acc, m);
    }
#else
    y = (int8_t)pl_requantize(q, acc, m);
#endif
    return y;
}

#endif
