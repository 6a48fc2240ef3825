#ifndef PL_Q_INVERSE_H
#define PL_Q_INVERSE_H

#include <stdint.h>

/* 1 / sum as r * 2^-(31 + h), 2^15 <= r <= 2^16. */
typedef struct {
    int32_t r, h;
} pl_q_inverse_t;

static inline pl_q_inverse_t pl_q_inverse(uint32_t sum)
{
    pl_q_inverse_t v = {0, 0};
    for (; sum >= 0x10000u; v.h++) {
        sum = (sum + 1u) >> 1;
    }
    for (; sum < 0x8000u; v.h--) {
        sum <<= 1;
    }
    v.r = (int32_t)(0x80000000u / sum);
    return v;
}

#endif
