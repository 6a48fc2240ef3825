#ifndef PL_LOG_F32_H
#define PL_LOG_F32_H

#include "bits_f32.h"
#include "integer.h"

/* x = 2^k * m with sqrt(1/2) <= m < sqrt(2); returns m - 1. Wants 0 < x < infinity. */
static inline float pl_log_reduced(float x, int32_t *k)
{
    uint32_t u = pl_bits(x);
    int32_t shift = 0;
    int32_t e;
    if (u < 0x00800000u) { /* denormal */
        u = pl_bits(x * 8388608.0f);
        shift = 23;
    }
    e = pl_shr(pl_signed(u - 0x3f3504f3u), 23);
    *k = e - shift;
    return pl_from_bits(u - ((uint32_t)e << 23)) - 1.0f;
}

/* log(1 + f) - f for sqrt(1/2) <= 1 + f < sqrt(2). */
static inline float pl_log_tail(float f)
{
    float p = -7.63575062e-2f;
    p = (p * f) + 1.27618611e-1f;
    p = (p * f) - 1.31596833e-1f;
    p = (p * f) + 1.42016277e-1f;
    p = (p * f) - 1.66234076e-1f;
    p = (p * f) + 2.00012401e-1f;
    p = (p * f) - 2.50008196e-1f;
    p = (p * f) + 3.33333313e-1f;
    return (f * f) * ((f * p) - 0.5f);
}

/* log for what is not positive and finite: -inf at 0, NaN below and for NaN, inf at inf. */
static inline float pl_log_special(float x) { return (x == 0.0f) ? -pl_inf() : (x < 0.0f) ? pl_nan() : x; }

/* The natural logarithm, at most 0.9 ulp from the exact value. */
static inline float pl_log_f32(float x)
{
    float y;
    if ((x > 0.0f) && (x < pl_inf())) {
        int32_t k;
        const float f = pl_log_reduced(x, &k);
        const float e = (float)k;
        y = (e * 0.693145752f) + (f + (pl_log_tail(f) + (e * 1.42860677e-6f)));
    } else {
        y = pl_log_special(x);
    }
    return y;
}

#endif
