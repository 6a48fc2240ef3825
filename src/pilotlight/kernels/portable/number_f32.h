#ifndef PL_NUMBER_F32_H
#define PL_NUMBER_F32_H

#include <stdbool.h>

#include "bits_f32.h"

/* What kernels for floats and for integers alike do with their elements; number_i64.h is the other half. */
static inline bool pl_is_nan_f32(float a) { return a != a; }

static inline float pl_least_f32(void) { return -pl_inf(); }

static inline float pl_add_f32(float a, float b) { return a + b; }

static inline float pl_mul_f32(float a, float b) { return a * b; }

#endif
