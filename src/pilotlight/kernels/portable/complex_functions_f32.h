#ifndef PL_COMPLEX_FUNCTIONS_F32_H
#define PL_COMPLEX_FUNCTIONS_F32_H

#include "complex_f32.h"
#include "cos_f32.h"
#include "exp_f32.h"
#include "hypot_f32.h"
#include "sin_f32.h"

/* A length and an angle. */
static inline pl_complex_f32 pl_complex_polar(float length, float angle)
{
    return pl_complex(length * pl_cos_f32(angle), length * pl_sin_f32(angle));
}

/* The exponential of a real number is real, whatever it is. */
static inline pl_complex_f32 pl_complex_exp(float a, float b)
{
    const float length = pl_exp_f32(a);
    return (b == 0.0f) ? pl_complex(length, b) : pl_complex_polar(length, b);
}

static inline pl_complex_f32 pl_complex_sgn(float a, float b)
{
    const float length = pl_hypot_f32(a, b);
    return (length == 0.0f) ? pl_complex(0.0f, 0.0f) : pl_complex(a / length, b / length);
}

#endif
