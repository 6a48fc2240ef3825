#ifndef PL_REQUANTIZE_H
#define PL_REQUANTIZE_H

#include "rhmul.h"

/* What becomes of an accumulator: shifted left, multiplied, moved to the zero point, limited. */
typedef struct {
    int32_t zy, shift; // zero point of the output, left shift of the accumulator
    int32_t lo, hi;    // limits of the output
} pl_requantize_t;

/* One accumulator as an output: clamp(zy + rhmul(acc << shift, m), lo, hi). */
static inline int32_t pl_requantize(const pl_requantize_t *q, int32_t acc, int32_t m)
{
    int32_t v = pl_rhmul((int32_t)((uint32_t)acc << q->shift), m) + q->zy;
    v = v < q->lo ? q->lo : v;
    return v > q->hi ? q->hi : v;
}

static inline int8_t pl_requantize_s8(const pl_requantize_t *q, int32_t acc, int32_t m)
{
    return (int8_t)pl_requantize(q, acc, m);
}

#endif
