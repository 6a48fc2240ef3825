#ifndef PL_Q_TABLE_H
#define PL_Q_TABLE_H

#include <stdint.h>

/* y = table[x], table (256) in the order of x's bytes: 0..127, then -128..-1. y may be x. */
static inline void pl_q_table(const int8_t *x, const int8_t *table, int8_t *y, int32_t n)
{
    const int32_t fours = n & ~3;
    for (int32_t i = 0; i < fours; i += 4) {
        const int8_t a = table[(uint8_t)x[i]];
        const int8_t b = table[(uint8_t)x[i + 1]];
        const int8_t c = table[(uint8_t)x[i + 2]];
        const int8_t d = table[(uint8_t)x[i + 3]];
        y[i] = a;
        y[i + 1] = b;
        y[i + 2] = c;
        y[i + 3] = d;
    }
    for (int32_t i = fours; i < n; i++) {
        y[i] = table[(uint8_t)x[i]];
    }
}

#endif
