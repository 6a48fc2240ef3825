#ifndef PL_Q_BINARY_H
#define PL_Q_BINARY_H

#include "q_clamp.h"

/* clamp((a * x + b * y + c) >> shift, lo, hi) */
static inline int32_t pl_q_add(int32_t x, int32_t y, int32_t a, int32_t b, int32_t c, int32_t shift, int32_t lo,
                               int32_t hi)
{
    return pl_q_clamp((a * x + b * y + c) >> shift, lo, hi);
}

/* clamp(((x - zx) * (y - zy) * a + c) >> shift, lo, hi) */
static inline int32_t pl_q_mul(int32_t x, int32_t y, int32_t zx, int32_t zy, int32_t a, int32_t c, int32_t shift,
                               int32_t lo, int32_t hi)
{
    return pl_q_clamp(((x - zx) * (y - zy) * a + c) >> shift, lo, hi);
}

#endif
