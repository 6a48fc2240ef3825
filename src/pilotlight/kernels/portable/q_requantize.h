#ifndef PL_Q_REQUANTIZE_H
#define PL_Q_REQUANTIZE_H

#include "requantize_s16.h"

/* y = clamp(zero + rhmul((x - zx) * up, m), lo, hi) over n numbers, from the last to the first where `reverse`, so
 * that a wider y may begin where x does. */
static inline void pl_q_requantize_s8_s16(const pl_requantize_t *q, const int8_t *x, int16_t *y, int32_t n, int32_t zx,
                                          int32_t m, int32_t reverse)
{
    for (int32_t i = 0; i < n; i++) {
        const int32_t k = (reverse != 0) ? (n - 1 - i) : i;
        y[k] = pl_requantize_s16(q, x[k] - zx, m);
    }
}

static inline void pl_q_requantize_s16_s16(const pl_requantize_t *q, const int16_t *x, int16_t *y, int32_t n,
                                           int32_t zx, int32_t m, int32_t reverse)
{
    for (int32_t i = 0; i < n; i++) {
        const int32_t k = (reverse != 0) ? (n - 1 - i) : i;
        y[k] = pl_requantize_s16(q, x[k] - zx, m);
    }
}

static inline void pl_q_requantize_s16_s8(const pl_requantize_t *q, const int16_t *x, int8_t *y, int32_t n, int32_t zx,
                                          int32_t m, int32_t reverse)
{
    for (int32_t i = 0; i < n; i++) {
        const int32_t k = (reverse != 0) ? (n - 1 - i) : i;
        y[k] = pl_requantize_s8(q, x[k] - zx, m);
    }
}

#endif
