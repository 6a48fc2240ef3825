#ifndef PL_Q_LOG_SOFTMAX_H
#define PL_Q_LOG_SOFTMAX_H

#include "integer.h"
#include "q_clamp.h"
#include "rhmul.h"

/* log2(v) in units of 2^-16, v > 0: a polynomial for the fraction, exact at powers of two and within 2e-5. */
static inline int32_t pl_q_log2(uint32_t v_start)
{
    uint32_t v = v_start;
    int32_t whole = 31;
    int32_t f;
    int32_t p = 47506355;
    while (v < 0x80000000u) {
        v <<= 1;
        whole--;
    }
    f = pl_signed(v & 0x7fffffffu); // 0 <= f < 1 in units of 2^-31
    p = -205366558 + (2 * pl_rhmul(p, f));
    p = 444051355 + (2 * pl_rhmul(p, f));
    p = -760608807 + (2 * pl_rhmul(p, f));
    p = 1548159479 + (2 * pl_rhmul(p, f));
    return (whole * 65536) + pl_shr((2 * pl_rhmul(p, f)) + 8192, 14);
}

/* How a distance from the largest and the logarithm of the sum become an int8:
 * clamp((begin - d * step - rhmul(log2 * up, m)) >> 16, lo, hi). */
typedef struct {
    int32_t step;
    int32_t begin;
    int32_t up;
    int32_t m;
    int32_t lo;
    int32_t hi;
} pl_q_log_softmax_t;

/* log(softmax) along the middle of (outer, axis, inner), lane by lane; y may be x. The table (length) holds
 * e^(-d * scale) * 2^bits for a distance d from the lane's largest; beyond it is 0. */
static inline void pl_q_log_softmax(const pl_q_log_softmax_t *q, const int8_t *x, const int32_t *table, int8_t *y,
                                    int32_t outer, int32_t axis, int32_t inner, int32_t length, int32_t bits)
{
    for (int32_t lane = 0; lane < (outer * inner); lane++) {
        const int32_t at = (lane / inner * axis * inner) + (lane % inner);
        const int8_t *p = x + at;
        int32_t top = -128;
        int32_t begin;
        uint32_t sum = 0u;
        for (int32_t k = 0; k < axis; k++) {
            top = (p[k * inner] > top) ? p[k * inner] : top;
        }
        for (int32_t k = 0; k < axis; k++) {
            const int32_t d = top - p[k * inner];
            sum += (d < length) ? (uint32_t)table[d] : 0u;
        }
        begin = q->begin - pl_rhmul((pl_q_log2(sum) - (bits * 65536)) * q->up, q->m);
        for (int32_t k = 0; k < axis; k++) {
            const int32_t d = top - p[k * inner];
            y[at + (k * inner)] = (int8_t)pl_q_clamp(pl_shr(begin - (d * q->step), 16), q->lo, q->hi);
        }
    }
}

#endif
