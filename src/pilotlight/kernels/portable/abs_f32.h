#ifndef PL_ABS_F32_H
#define PL_ABS_F32_H

#include "bits_f32.h"

static inline float pl_abs_f32(float x) { return pl_from_bits(pl_bits(x) & 0x7fffffffu); }

#endif
