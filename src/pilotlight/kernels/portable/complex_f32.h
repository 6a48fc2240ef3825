#ifndef PL_COMPLEX_F32_H
#define PL_COMPLEX_F32_H

#include "abs_f32.h"

/* A complex number; functions of complex numbers take their parts one after another. */
typedef struct {
    float re;
    float im;
} pl_complex_f32;

static inline pl_complex_f32 pl_complex(float re, float im)
{
    const pl_complex_f32 z = {re, im};
    return z;
}

static inline pl_complex_f32 pl_complex_mul(float a, float b, float c, float d)
{
    return pl_complex((a * c) - (b * d), (a * d) + (b * c));
}

/* Divided through by the larger part of the divisor, so that its square need not be a float. */
static inline pl_complex_f32 pl_complex_div(float a, float b, float c, float d)
{
    const float x = pl_abs_f32(c);
    const float y = pl_abs_f32(d);
    pl_complex_f32 z;
    if ((x == 0.0f) && (y == 0.0f)) {
        z = pl_complex(a / x, b / y);
    } else if (x >= y) {
        const float ratio = d / c;
        const float over = 1.0f / (c + (d * ratio));
        z = pl_complex((a + (b * ratio)) * over, (b - (a * ratio)) * over);
    } else {
        const float ratio = c / d;
        const float over = 1.0f / ((c * ratio) + d);
        z = pl_complex(((a * ratio) + b) * over, ((b * ratio) - a) * over);
    }
    return z;
}

#endif
