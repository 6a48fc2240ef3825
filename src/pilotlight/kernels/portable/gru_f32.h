#ifndef PL_GRU_F32_H
#define PL_GRU_F32_H

#include <stddef.h>

#include "linear_f32.h"
#include "recurrent_cell_f32.h"
#include "recurrent_f32.h"

/* One layer and direction of a GRU. w_x (3 * hidden, input) and w_h (3 * hidden, hidden) are PyTorch's, packed as
 * for a linear layer, the gates r, z, n one after another; b_x and b_h (3 * hidden) may be null. h0
 * (batch, hidden) may be null, which means zeros; hn may be null or h0. y holds every step's h, from where the
 * next step reads it. gates (2, 3, hidden) is scratch. y must not overlap x. */
static inline void pl_gru_f32(const pl_recurrent_t *s, const float *x, const float *w_x, const float *w_h,
                              const float *b_x, const float *b_h, const float *h0, float *y, float *hn, float *gates)
{
    const int32_t hidden = s->hidden;
    float *again = gates + (3 * hidden); // what h adds
    for (int32_t n = 0; n < s->batch; n++) {
        const float *h = (h0 != NULL) ? (h0 + (n * hidden)) : h0; // (hidden)
        for (int32_t step = 0; step < s->steps; step++) {
            const int32_t t = (s->reverse != 0) ? (s->steps - 1 - step) : step;
            float *out = y + ((t * s->y_step) + (n * s->y_batch)); // (hidden)
            pl_recurrent_row_f32(s->input, 3 * hidden, x + ((t * s->x_step) + (n * s->x_batch)), w_x, b_x, gates);
            if (h != NULL) {
                pl_recurrent_row_f32(hidden, 3 * hidden, h, w_h, b_h, again);
            } else if (b_h != NULL) {
                pl_copy(again, b_h, 3 * hidden * (int32_t)sizeof(float));
            } else {
                pl_zero(again, 3 * hidden * (int32_t)sizeof(float));
            }
            pl_gru_cell_f32(gates, again, h, out, hidden);
            h = out;
        }
        if ((hn != NULL) && (h != NULL)) {
            pl_copy(hn + (n * hidden), h, hidden * (int32_t)sizeof(float));
        }
    }
}

#endif
