#ifndef PL_Q_QUANTIZE_H
#define PL_Q_QUANTIZE_H

#include <stdint.h>

#include "bits_f32.h"
#include "integer.h"

/* rint(v), ties to even, of lo <= v <= hi within +-2^22: adding 1.5 * 2^23 leaves the integer in the low bits. The
 * clamp comes between the multiply and the add, so that no compiler fuses them. NaN gives lo. */
static inline int32_t pl_q_round(float v_start, float lo, float hi)
{
    float v = v_start;
    v = (v > lo) ? v : lo;
    v = (v < hi) ? v : hi;
    return (int32_t)pl_bits(v + 12582912.0f) - 0x4b400000;
}

/* y = clamp(rint(x * inverse) + zero, lo, hi) over n numbers; y may be x. */
static inline void pl_q_quantize_s8(const float *x, int8_t *y, int32_t n, float inverse, int32_t zero, int32_t lo,
                                    int32_t hi)
{
    const float least = pl_float(lo - zero);
    const float most = pl_float(hi - zero);
    for (int32_t i = 0; i < n; i++) {
        y[i] = (int8_t)(pl_q_round(x[i] * inverse, least, most) + zero);
    }
}

/* The same to 16 bits. */
static inline void pl_q_quantize_s16(const float *x, int16_t *y, int32_t n, float inverse, int32_t zero, int32_t lo,
                                     int32_t hi)
{
    const float least = pl_float(lo - zero);
    const float most = pl_float(hi - zero);
    for (int32_t i = 0; i < n; i++) {
        y[i] = (int16_t)(pl_q_round(x[i] * inverse, least, most) + zero);
    }
}

#endif
