#ifndef PL_Q_GRU_H
#define PL_Q_GRU_H

#include "mem.h"
#include "q_recurrent.h"

/* w_x (hidden, input, 3) and w_h (hidden, hidden, 3) hold the gates r, z, n of a unit side by side, gates (hidden, 3),
 * curves (2, 257) sigmoid and tanh. h0 (batch, hidden) may be null, which stands for zeros, or hn. y holds every step's
 * h for the products; scratch (hidden) keeps it in units of 2^-14 for the update. y must not overlap x. */
static inline void pl_q_gru(const pl_q_recurrent_t *s, const int8_t *x, const int8_t *w_x, const int8_t *w_h,
                            const pl_q_gate_t *gates, const int16_t *curves, const int8_t *h0, int8_t *y, int8_t *hn,
                            int16_t *scratch)
{
    const int32_t hidden = s->hidden;
    for (int32_t n = 0; n < s->batch; n++) {
        const int8_t *h = h0 ? h0 + n * hidden : h0; // (hidden)
        for (int32_t j = 0; j < hidden; j++) {
            const int32_t first = h ? pl_rhmul((h[j] - s->zh) * s->state_up, s->state) : 0;
            scratch[j] = (int16_t)pl_q_sat16(first);
        }
        for (int32_t step = 0; step < s->steps; step++) {
            const int32_t t = s->reverse ? s->steps - 1 - step : step;
            const int8_t *in = x + (t * s->x_step + n * s->x_batch); // (input)
            int8_t *out = y + (t * s->y_step + n * s->y_batch);      // (hidden)
            for (int32_t j = 0; j < hidden; j++) {
                int32_t from_x[3], from_h[3], reset, update, fresh, kept;
                for (int32_t k = 0; k < 3; k++) {
                    const pl_q_gate_t *g = gates + 3 * j + k;
                    const int32_t a = pl_q_dot(in, w_x + j * s->input * 3 + k, s->input, 3, g->bias_x, 0);
                    const int32_t b = pl_q_dot(h, w_h + j * hidden * 3 + k, hidden, 3, g->bias_h, s->zh);
                    from_x[k] = pl_q_sat16(pl_rhmul(a * s->up_x, g->m_x));
                    from_h[k] = pl_q_sat16(pl_rhmul(b * s->up_h, g->m_h));
                }
                reset = pl_q_curve(curves, pl_q_sat16(from_x[0] + from_h[0]));
                update = pl_q_curve(curves, pl_q_sat16(from_x[1] + from_h[1]));
                fresh = pl_q_sat16(from_x[2] + ((reset * from_h[2] + 16384) >> 15));
                fresh = pl_q_curve(curves + 257, fresh);
                kept = (update * scratch[j] + 16384) >> 15;
                kept = pl_q_sat16(kept + (((32768 - update) * fresh + 32768) >> 16));
                scratch[j] = (int16_t)kept;
                out[j] = pl_q_hidden(s, kept);
            }
            h = out;
        }
        if (h) {
            pl_copy(hn + n * hidden, h, hidden);
        }
    }
}

#endif
