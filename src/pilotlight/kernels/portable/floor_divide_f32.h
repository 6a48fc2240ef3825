#ifndef PL_FLOOR_DIVIDE_F32_H
#define PL_FLOOR_DIVIDE_F32_H

#include "floor_f32.h"
#include "fmod_f32.h"

/* floor(a / b) as Python and PyTorch have it: from the exact remainder, so that a quotient just below an integer
 * does not round up to it. */
static inline float pl_floor_divide_f32(float a, float b)
{
    const float r = pl_fmod_f32(a, b);
    float q = (a - r) / b;
    float y;
    if ((r != 0.0f) && ((b < 0.0f) != (r < 0.0f))) {
        q -= 1.0f;
    }
    if (b == 0.0f) {
        y = a / b;
    } else if (q == 0.0f) {
        y = pl_copysign_f32(0.0f, a / b);
    } else {
        const float whole = pl_floor_f32(q);
        y = ((q - whole) > 0.5f) ? (whole + 1.0f) : whole;
    }
    return y;
}

#endif
