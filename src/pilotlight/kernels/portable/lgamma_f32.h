#ifndef PL_LGAMMA_F32_H
#define PL_LGAMMA_F32_H

#include "log_f32.h"
#include "round_f32.h"
#include "sin_f32.h"

/* log(gamma(2 + t)) for -1 <= t <= 1: its zeros are factors. */
static inline float pl_lgamma_middle_f32(float t)
{
    float p = -3.87444e-05f;
    p = (p * t) + 7.819331e-05f;
    p = (p * t) - 5.2393123e-05f;
    p = (p * t) + 0.0001305883f;
    p = (p * t) - 0.00042559553f;
    p = (p * t) + 0.00094433513f;
    p = (p * t) - 0.0021020523f;
    p = (p * t) + 0.004991547f;
    p = (p * t) - 0.012384976f;
    p = (p * t) + 0.032965627f;
    p = (p * t) - 0.10031727f;
    p = (p * t) + 0.42278433f;
    return (t + 1.0f) * t * p;
}

/* The same for every positive x: a logarithm shifts smaller ones up and those below 8 down, Stirling's series has the
 * rest. */
static inline float pl_lgamma_positive_f32(float x)
{
    float y;
    if (x < 1.0f) {
        y = pl_lgamma_middle_f32(x - 1.0f) - pl_log_f32(x);
    } else if (x < 8.0f) {
        float u = x;
        float product = 1.0f;
        for (int32_t turn = 0; turn < 6; turn++) {
            if (u >= 3.0f) {
                product *= u - 1.0f;
                u -= 1.0f;
            }
        }
        y = pl_lgamma_middle_f32(u - 2.0f) + pl_log_f32(product);
    } else {
        const float r = 1.0f / x;
        const float z = r * r;
        const float series = r * (8.33333358e-2f - (z * (2.77777785e-3f - (z * 7.93650805e-4f))));
        y = ((x - 0.5f) * (pl_log_f32(x) - 1.0f)) + (4.18938518e-1f + series);
    }
    return y;
}

/* The logarithm of the absolute value of the gamma function. Its error is a few units in the last place of the
 * logarithms it is made of; negative numbers are reflected, and infinite where they are whole. */
static inline float pl_lgamma_f32(float x)
{
    const float rest = x - pl_round_f32(x);
    float y;
    if ((x > 0.0f) || (x != x)) {
        y = (x == pl_inf()) ? x : pl_lgamma_positive_f32(x);
    } else if ((rest == 0.0f) || ((x - x) != 0.0f)) {
        y = pl_inf();
    } else if (x > -1e-30f) { /* where its sine would be rounded to few digits */
        y = -pl_log_f32(-x);
    } else {
        const float sine = pl_sin_f32(3.14159274f * rest);
        y = 1.14472985f - pl_log_f32((sine < 0.0f) ? -sine : sine) - pl_lgamma_positive_f32(1.0f - x);
    }
    return y;
}

#endif
