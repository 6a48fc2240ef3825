#ifndef PL_ERFC_F32_H
#define PL_ERFC_F32_H

#include "erf_f32.h"

/* One minus the error function, at most 5.1 ulp from the exact value: beyond 0.67 it is e^-x^2 times a polynomial in
 * (x - 3) / (x + 3). The square is taken in two parts, of which the first is exact. */
static inline float pl_erfc_f32(float x)
{
    const float a = (pl_abs_f32(x) > 11.0f) ? 11.0f : pl_abs_f32(x); // beyond 11 it is zero
    float p;
    if (a < 0.67f) {
        p = 1.0f - pl_erf_f32(x);
    } else {
        const float t = (a - 3.0f) / (a + 3.0f);
        const float head = pl_from_bits(pl_bits(a) & 0xfffff000u);
        const float tail = a - head;
        p = -5.387005e-4f;
        p = (p * t) + 7.380312e-4f;
        p = (p * t) + 4.248178e-3f;
        p = (p * t) - 2.4399696e-2f;
        p = (p * t) + 7.1669154e-2f;
        p = (p * t) - 1.5011534e-1f;
        p = (p * t) + 2.456036e-1f;
        p = (p * t) - 3.2623357e-1f;
        p = (p * t) + 1.7900115e-1f;
        p = (x != x) ? x : (p * pl_exp_f32(-tail * (a + head)) * pl_exp_f32(-head * head));
        p = (x < 0.0f) ? (2.0f - p) : p;
    }
    return p;
}

#endif
