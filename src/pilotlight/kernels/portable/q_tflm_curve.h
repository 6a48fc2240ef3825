#ifndef PL_Q_TFLM_CURVE_H
#define PL_Q_TFLM_CURVE_H

#include <stdint.h>

#include "integer.h"

/* A number as the curves take it, in units of 1 / 12288: (x * factor) / 2^shift, half up. */
static inline int32_t pl_tflm_curve_input(int32_t x, int32_t factor, int32_t shift)
{
    const int32_t half = (shift > 0) ? pl_signed(1u << pl_unsigned(shift - 1)) : 0;
    return pl_shr_by((x * factor) + half, shift);
}

/* The sigmoid of a number v >= 0, times 65536 * step: on the line between two numbers of the table (256), which has
 * 32768 less than the sigmoid, times 65536; `top` after its end. */
static inline int32_t pl_tflm_curve(const int16_t *table, int32_t v, int32_t step, int32_t top)
{
    const int32_t at = v / step;
    const int16_t *t = table + at;
    return (at < 255) ? (((t[0] + 32768) * step) + ((v % step) * (t[1] - t[0]))) : top;
}

/* TFLM's sigmoid of 16 bits, in units of 2^-15. */
static inline int32_t pl_tflm_logistic(const int16_t *table, int32_t v)
{
    const int32_t y = pl_tflm_curve(table, (v < 0) ? -v : v, 512, 32767 * 1024);
    return pl_shr((v < 0) ? (33554432 - y + 511) : (y + 512), 10u);
}

/* TFLM's tanh of 16 bits, in units of 2^-15. */
static inline int32_t pl_tflm_tanh(const int16_t *table, int32_t v)
{
    const int32_t y = pl_tflm_curve(table, (v < 0) ? -v : v, 256, 65535 * 256);
    return pl_shr((v < 0) ? (8388608 - y + 127) : (y - 8388608 + 128), 8u);
}

/* One of them for n numbers; y may be x. */
static inline void pl_q_tflm_curve(const int16_t *x, const int16_t *table, int16_t *y, int32_t n, int32_t tanh,
                                   int32_t factor, int32_t shift)
{
    for (int32_t i = 0; i < n; i++) {
        const int32_t v = pl_tflm_curve_input(x[i], factor, shift);
        y[i] = (int16_t)((tanh != 0) ? pl_tflm_tanh(table, v) : pl_tflm_logistic(table, v));
    }
}

#endif
