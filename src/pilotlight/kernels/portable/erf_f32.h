#ifndef PL_ERF_F32_H
#define PL_ERF_F32_H

#include "abs_f32.h"
#include "exp_f32.h"

/* The error function, at most 1.3 ulp from the exact value: a polynomial near zero, beyond it one minus
 * the exponential of a polynomial for log(erfc). */
static inline float pl_erf_f32(float x)
{
    const float a = pl_abs_f32(x);
    float y;
    if (a < 0.9f) {
        const float z = a * a;
        float p = 8.37864034e-5f;
        p = (p * z) - 8.14421743e-4f;
        p = (p * z) + 5.20104077e-3f;
        p = (p * z) - 2.68592704e-2f;
        p = (p * z) + 1.12836868e-1f;
        p = (p * z) - 3.76126319e-1f;
        p = (p * z) + 1.28379166e-1f;
        y = a + (a * p);
    } else {
        const float t = (a > 4.0f) ? 4.0f : a;
        float p = 1.971788e-4f;
        p = (p * t) - 3.055584e-3f;
        p = (p * t) + 2.2277016e-2f;
        p = (p * t) - 1.0403726e-1f;
        p = (p * t) - 6.370598e-1f;
        p = (p * t) - 1.12774956f;
        p = (p * t) - 1.774872e-4f;
        y = (a > 4.0f) ? 1.0f : (1.0f - pl_exp_f32(p));
    }
    return pl_copysign_f32(y, x);
}

#endif
