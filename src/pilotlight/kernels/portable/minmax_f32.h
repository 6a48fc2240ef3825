#ifndef PL_MINMAX_F32_H
#define PL_MINMAX_F32_H

/* A NaN on either side wins, as in PyTorch's maximum, clamp and relu. */
static inline float pl_max_f32(float a, float b) { return ((a > b) || (a != a)) ? a : b; }

static inline float pl_min_f32(float a, float b) { return ((a < b) || (a != a)) ? a : b; }

#endif
