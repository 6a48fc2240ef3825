#ifndef PL_RNN_F32_H
#define PL_RNN_F32_H

#include <stddef.h>

#include "linear_f32.h"
#include "recurrent_cell_f32.h"
#include "recurrent_f32.h"

/* One layer and direction of a plain recurrent network, with tanh or relu. w_x (hidden, input) and w_h
 * (hidden, hidden) are PyTorch's, packed as for a linear layer; bias (hidden) is the sum of its two and may be null.
 * h0 (batch, hidden) may be null, which means zeros; hn may be null or h0. y holds every step's h, from where
 * the next step reads it. y must not overlap x. */
static inline void pl_rnn_f32(const pl_recurrent_t *s, const float *x, const float *w_x, const float *w_h,
                              const float *bias, const float *h0, float *y, float *hn, int32_t relu)
{
    const int32_t hidden = s->hidden;
    for (int32_t n = 0; n < s->batch; n++) {
        const float *h = (h0 != NULL) ? (h0 + (n * hidden)) : h0; // (hidden)
        for (int32_t step = 0; step < s->steps; step++) {
            const int32_t t = (s->reverse != 0) ? (s->steps - 1 - step) : step;
            float *out = y + ((t * s->y_step) + (n * s->y_batch)); // (hidden)
            pl_recurrent_row_f32(s->input, hidden, x + ((t * s->x_step) + (n * s->x_batch)), w_x, bias, out);
            if (h != NULL) {
                pl_recurrent_row_f32(hidden, hidden, h, w_h, out, out);
            }
            pl_rnn_cell_f32(out, hidden, relu);
            h = out;
        }
        if ((hn != NULL) && (h != NULL)) {
            pl_copy(hn + (n * hidden), h, hidden * (int32_t)sizeof(float));
        }
    }
}

#endif
