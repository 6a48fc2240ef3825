#ifndef PL_TAKE_W4_H
#define PL_TAKE_W4_H

#include "index.h"
#include "linear_w4.h"

/* Rows by number out of int4 weights, packed as those of a linear layer with o rows: y = weight * step * scale. */
static inline void pl_take_w4(const pl_linear_w4_t *s, const uint32_t *w, const uint16_t *step, const float *scale,
                              const int64_t *ids, // (n)
                              float *y_start)     // (n, i)
{
    float *y = y_start;
    for (int32_t row = 0; row < s->n; row++) {
        const int32_t r = pl_index(ids[row], s->o);
        for (int32_t k = 0; k < s->i; k++) {
            *y = (float)pl_weight_w4(s, w, step, r, k) * scale[r];
            y++;
        }
    }
}

#endif
