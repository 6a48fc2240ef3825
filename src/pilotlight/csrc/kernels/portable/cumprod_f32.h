#ifndef PL_CUMPROD_F32_H
#define PL_CUMPROD_F32_H

#include <stdint.h>

#include "number_f32.h"

/* Running products along the middle of (outer, axis, inner), lane by lane. */
static inline void pl_cumprod_f32(const float *x, float *y, int32_t outer, int32_t axis, int32_t inner)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            float product = 1.0f;
            for (int32_t k = 0; k < axis; k++) {
                const int32_t at = (o * axis + k) * inner + i;
                product = pl_mul_f32(product, x[at]);
                y[at] = product;
            }
        }
    }
}

#endif
