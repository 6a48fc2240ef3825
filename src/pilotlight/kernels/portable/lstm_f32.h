#ifndef PL_LSTM_F32_H
#define PL_LSTM_F32_H

#include <stddef.h>

#include "linear_f32.h"
#include "recurrent_cell_f32.h"
#include "recurrent_f32.h"

/* One layer and direction of an LSTM. w_x (4 * hidden, input) and w_h (4 * hidden, hidden) are PyTorch's, packed as
 * for a linear layer, the gates i, f, g, o one after another; bias (4 * hidden) is the sum of its two and may be
 * null. h0 and c0 (batch, hidden) may be null, which means zeros; hn may be null; c0 may be cn and h0 may be
 * hn. y holds every step's h, from where the next step reads it. gates (4, hidden) is scratch. y must not overlap
 * x. */
static inline void pl_lstm_f32(const pl_recurrent_t *s, const float *x, const float *w_x, const float *w_h,
                               const float *bias, const float *h0, const float *c0, float *y, float *hn, float *cn,
                               float *gates)
{
    const int32_t hidden = s->hidden;
    const int32_t bytes = hidden * (int32_t)sizeof(float);
    if (c0 != NULL) {
        pl_copy(cn, c0, s->batch * bytes);
    } else {
        pl_zero(cn, s->batch * bytes);
    }
    for (int32_t n = 0; n < s->batch; n++) {
        const float *h = (h0 != NULL) ? (h0 + (n * hidden)) : h0; // (hidden)
        float *c = cn + (n * hidden);                             // (hidden)
        for (int32_t step = 0; step < s->steps; step++) {
            const int32_t t = (s->reverse != 0) ? (s->steps - 1 - step) : step;
            float *out = y + ((t * s->y_step) + (n * s->y_batch)); // (hidden)
            pl_recurrent_row_f32(s->input, 4 * hidden, x + ((t * s->x_step) + (n * s->x_batch)), w_x, bias, gates);
            if (h != NULL) {
                pl_recurrent_row_f32(hidden, 4 * hidden, h, w_h, gates, gates);
            }
            pl_lstm_cell_f32(gates, c, out, hidden);
            h = out;
        }
        if ((hn != NULL) && (h != NULL)) {
            pl_copy(hn + (n * hidden), h, bytes);
        }
    }
}

#endif
