#ifndef PL_Q_DEQUANTIZE_H
#define PL_Q_DEQUANTIZE_H

#include <stdint.h>

#include "integer.h"

/* y = (x - zero) * scale over n numbers, from the last to the first where `reverse`, so that y may begin where x
 * does. */
static inline void pl_q_dequantize_s8(const int8_t *x, float *y, int32_t n, float scale, int32_t zero, int32_t reverse)
{
    for (int32_t i = 0; i < n; i++) {
        const int32_t k = (reverse != 0) ? (n - 1 - i) : i;
        const int32_t v = x[k];
        y[k] = pl_float(v - zero) * scale;
    }
}

/* The same from 16 bits. */
static inline void pl_q_dequantize_s16(const int16_t *x, float *y, int32_t n, float scale, int32_t zero,
                                       int32_t reverse)
{
    for (int32_t i = 0; i < n; i++) {
        const int32_t k = (reverse != 0) ? (n - 1 - i) : i;
        const int32_t v = x[k];
        y[k] = pl_float(v - zero) * scale;
    }
}

#endif
