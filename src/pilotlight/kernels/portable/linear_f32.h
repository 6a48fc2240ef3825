#ifndef PL_LINEAR_F32_H
#define PL_LINEAR_F32_H

#include <stdint.h>

#include "filters_f32.h"
#include "integer.h"

typedef struct {
    int32_t n; // rows, inputs, outputs
    int32_t i;
    int32_t o;
    int32_t reverse; // 1: from the last row to the first
    int32_t act;     // PL_ACT_*
    float lo;        // limits of outputs
    float hi;
} pl_linear_t;

/* y = x wᵀ + bias: rows in pairs, then the odd one. w is packed as for a 1x1 convolution, (block, i, F). */
static inline void pl_linear_f32(const pl_linear_t *s,
                                 const float *x, // (n, i)
                                 const float *w, const float *bias,
                                 float *y) // (n, o)
{
    pl_mac_t a;
    a.rows = 1;
    a.cols = 1;
    a.len = s->i;
    a.x_col = 0;
    a.x_row = 0;
    a.w_row = 0;
    a.w_block = 0;
    a.x_pixel = (s->reverse != 0) ? -s->i : s->i;
    a.y_pixel = (s->reverse != 0) ? -s->o : s->o;
    a.relu = ((s->act == PL_ACT_RELU) || (s->act == PL_ACT_LIMIT)) ? 1 : 0;
    int32_t step = 1;
    for (int32_t done = 0; done < s->n; done += step) {
        const int32_t rest = s->n - done;
        const int32_t row = (s->reverse != 0) ? (rest - 1) : done;
        const int32_t pixels = (rest >= 2) ? 2 : 1;
        a.groups = (pl_one_size(s->o) && (rest >= 2)) ? pl_shr(rest, 1) : 1;
        step = a.groups * pixels;
        pl_mac_filters_f32(&a, 0, pixels, s->o, x + (row * s->i), w, s->i, 0, bias, y + (row * s->o));
    }
    pl_limit_f32(s->act, s->lo, s->hi, y, s->n * s->o);
}

#endif
