#ifndef PL_Q_TFLM_INVERSE_H
#define PL_Q_TFLM_INVERSE_H

#include "tflm.h"

/* 1 / (1 + a) for a in 0..1, both as fractions of 2^31: gemmlowp's one_over_one_plus_x_for_x_in_0_1. */
static inline int32_t pl_q_tflm_inverse(int32_t a)
{
    const uint32_t sum = (uint32_t)a + 0x7fffffffu + 1u;
    const int32_t half = (int32_t)(sum >> 1);             // of the denominator
    int32_t x = 1515870810 + pl_srdhm(half, -1010580540); // with two integer bits
    for (int32_t i = 0; i < 3; i++) {
        const int32_t rest = (int32_t)0x20000000 - pl_srdhm(half, x);
        x += pl_srdhm(x, rest) * 4;
    }
    return (x > 0x3fffffff) ? 0x7fffffff : (x * 2);
}

#endif
