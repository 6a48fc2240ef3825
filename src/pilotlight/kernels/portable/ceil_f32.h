#ifndef PL_CEIL_F32_H
#define PL_CEIL_F32_H

#include "floor_f32.h"

static inline float pl_ceil_f32(float x) { return -pl_floor_f32(-x); }

#endif
