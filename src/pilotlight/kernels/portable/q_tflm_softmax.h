#ifndef PL_Q_TFLM_SOFTMAX_H
#define PL_Q_TFLM_SOFTMAX_H

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

/* Softmax along the middle of (outer, axis, inner), lane by lane, as TFLM computes it; y may be x. The table (length)
 * holds e^(-d * scale) as a fraction of 2^31 for a distance d from the lane's largest; beyond it is 0. Outputs have
 * `bits` bits, from the least of their type on. */
#define PL_Q_TFLM_SOFTMAX(name, type, bits, least, most)                                                               \
    static inline void name(const int8_t *x, const int32_t *table, type *y, int32_t outer, int32_t axis,               \
                            int32_t inner, int32_t length)                                                             \
    {                                                                                                                  \
        for (int32_t lane = 0; lane < (outer * inner); lane++) {                                                       \
            const int32_t at = (lane / inner * axis * inner) + (lane % inner);                                         \
            const int8_t *p = x + at;                                                                                  \
            int32_t top = -128;                                                                                        \
            uint32_t sum = 0u;                                                                                         \
            int32_t over = 12;                                                                                         \
            for (int32_t k = 0; k < axis; k++) {                                                                       \
                top = (p[k * inner] > top) ? p[k * inner] : top;                                                       \
            }                                                                                                          \
            for (int32_t k = 0; k < axis; k++) {                                                                       \
                const int32_t d = top - p[k * inner];                                                                  \
                sum += (d < length) ? (uint32_t)pl_rdbpot(table[d], 12) : 0u;                                          \
            }                                                                                                          \
            for (; (sum & 0x80000000u) == 0u; over--) {                                                                \
                sum <<= 1;                                                                                             \
            }                                                                                                          \
            const int32_t scale = pl_q_tflm_inverse(pl_signed(sum - 0x80000000u));                                     \
            for (int32_t k = 0; k < axis; k++) {                                                                       \
                const int32_t d = top - p[k * inner];                                                                  \
                const int32_t e = (d < length) ? pl_rdbpot(pl_srdhm(scale, table[d]), over + 31 - (bits)) : 0;         \
                y[at + (k * inner)] = (type)pl_q_clamp(e + (least), (least), (most));                                  \
            }                                                                                                          \
        }                                                                                                              \
    }

PL_Q_TFLM_SOFTMAX(pl_q_tflm_softmax, int8_t, 8, -128, 127)
PL_Q_TFLM_SOFTMAX(pl_q_tflm_softmax_s16, int16_t, 16, -32768, 32767)

#endif
