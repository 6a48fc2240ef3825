#ifndef PL_GELU_F32_H
#define PL_GELU_F32_H

#include "erf_f32.h"

/* x/2 * (1 + erf(x / sqrt 2)), at most 2.0 * 2^-24 * |x| from the exact value; NaN at minus infinity, as PyTorch gives
 * it. (At infinity PyTorch gives infinity or, for vectors of float32 on processors with AVX-512, NaN.) */
static inline float pl_gelu_f32(float x) { return 0.5f * x * (1.0f + pl_erf_f32(x * 0.707106769f)); }

#endif
