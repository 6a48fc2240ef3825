#ifndef PL_Q_CLAMP_H
#define PL_Q_CLAMP_H

#include <stdint.h>

/* An inner loop as a function of its own, whose numbers then fit the registers. */
#if defined(__GNUC__)
#define PL_Q_APART static __attribute__((__noinline__, __unused__))
#else
#define PL_Q_APART static inline
#endif

static inline int32_t pl_q_clamp(int32_t v_start, int32_t lo, int32_t hi)
{
    int32_t v = v_start;
    v = (v < lo) ? lo : v;
    return (v > hi) ? hi : v;
}

/* v within -128..127. */
static inline int8_t pl_q_sat8(int32_t v)
{
#if defined(__GNUC__) && defined(__ARM_FEATURE_SAT)
    __asm__("ssat %0, #8, %0" : "+r"(v));
    return (int8_t)v;
#else
    return (int8_t)pl_q_clamp(v, -128, 127);
#endif
}

#endif
