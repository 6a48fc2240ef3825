#ifndef PL_Q_INVERSE_H
#define PL_Q_INVERSE_H

#include <stdint.h>

#include "integer.h"

/* 2^bits / sum as r * 2^-(16 + h), 2^15 <= r <= 2^16, h >= 0. */
typedef struct {
    int32_t r;
    int32_t h;
} pl_q_inverse_t;

/* The sum, which is at least 2^bits, is halved until it is below 2^16, rounding up; the first halvings are one shift. */
static inline pl_q_inverse_t pl_q_inverse(uint32_t sum_start, int32_t bits)
{
    uint32_t sum = sum_start;
    const int32_t first = (bits > 15) ? (bits - 15) : 0;
    pl_q_inverse_t v = {0, first + 15 - bits};
    sum = (sum + (1u << (uint32_t)first) - 1u) >> (uint32_t)first;
    while (sum >= 0x10000u) {
        sum = (sum + 1u) >> 1;
        v.h++;
    }
    while ((bits < 15) && (sum < 0x8000u)) {
        sum <<= 1;
        v.h--;
    }
    v.r = pl_signed(0x80000000u / sum);
    return v;
}

#endif
