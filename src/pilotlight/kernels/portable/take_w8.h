#ifndef PL_TAKE_W8_H
#define PL_TAKE_W8_H

#include "index.h"
#include "linear_w8.h"

/* Rows by number out of int8 weights, packed as those of a linear layer with o rows: y = weight * scale. */
static inline void pl_take_w8(const pl_linear_w8_t *s, const int8_t *w, const float *scale,
                              const int64_t *ids, // (n)
                              float *y_start)     // (n, i)
{
    float *y = y_start;
    for (int32_t row = 0; row < s->n; row++) {
        const int32_t r = pl_index(ids[row], s->o);
        for (int32_t k = 0; k < s->i; k++) {
            *y = (float)pl_weight_w8(w, s->width, r, k) * scale[r];
            y++;
        }
    }
}

#endif
