#ifndef PL_SILU_F32_H
#define PL_SILU_F32_H

#include "sigmoid_f32.h"

/* x * sigmoid(x), at most 3.1 ulp from the exact value where that is above 2^-110 or so. */
static inline float pl_silu_f32(float x) { return x * pl_sigmoid_f32(x); }

#endif
