#ifndef PL_Q_CLAMP_H
#define PL_Q_CLAMP_H

#include "rhmul.h"

static inline int32_t pl_q_clamp(int32_t v, int32_t lo, int32_t hi)
{
    v = v < lo ? lo : v;
    return v > hi ? hi : v;
}

/* How an accumulator becomes an int8: clamp(zero + rhmul(acc * up, m), lo, hi), up a power of two. */
typedef struct {
    int32_t up, zero, lo, hi;
} pl_q_out_t;

static inline int8_t pl_q_out(const pl_q_out_t *q, int32_t acc, int32_t m)
{
    return (int8_t)pl_q_clamp(q->zero + pl_rhmul(acc * q->up, m), q->lo, q->hi);
}

#endif
