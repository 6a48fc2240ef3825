#ifndef PL_Q_TABLE_S16_H
#define PL_Q_TABLE_S16_H

#include <stdint.h>

#include "integer.h"

/* A function as straight lines between the numbers of a table (2^(16-shift) + 1) that starts at x = -32768 and goes on
 * in steps of 2^shift: y = t[i] + ((t[i+1] - t[i]) * f + half) >> shift. y may be x. */
static inline void pl_q_table_s16(const int16_t *x, const int16_t *table, int16_t *y, int32_t n, int32_t shift)
{
    const int32_t mask = pl_signed(1u << (uint32_t)shift) - 1;
    const int32_t half = pl_shr(mask + 1, 1);
    for (int32_t i = 0; i < n; i++) {
        const int32_t v = x[i] + 32768;
        const int16_t *t = table + pl_shr_by(v, shift);
        y[i] = (int16_t)(t[0] + pl_shr_by(((t[1] - t[0]) * (v & mask)) + half, shift));
    }
}

#endif
