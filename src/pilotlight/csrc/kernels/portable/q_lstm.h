#ifndef PL_Q_LSTM_H
#define PL_Q_LSTM_H

#include "mem.h"
#include "q_recurrent.h"

/* A gate of unit j: its own weights and those of the three others lie side by side. */
static inline int32_t pl_q_lstm_gate(const pl_q_recurrent_t *s, const int8_t *x, const int8_t *h, const int8_t *w_x,
                                     const int8_t *w_h, const pl_q_gate_t *g)
{
    const int32_t a = pl_q_dot(x, w_x, s->input, 4, g->bias_x, 0);
    const int32_t b = pl_q_dot(h, w_h, s->hidden, 4, g->bias_h, s->zh);
    return pl_q_sat16(pl_rhmul(a * s->up_x, g->m_x) + pl_rhmul(b * s->up_h, g->m_h));
}

/* w_x (hidden, input, 4) and w_h (hidden, hidden, 4) hold the gates i, f, g, o of a unit side by side, gates (hidden,
 * 4), curves (2, 257) sigmoid and tanh. h0 (batch, hidden) and c0 may be null, which stands for zeros; h0 may be hn,
 * c0 may be cn. y holds every step's h; the step before is read from there. y must not overlap x. */
static inline void pl_q_lstm(const pl_q_recurrent_t *s, const int8_t *x, const int8_t *w_x, const int8_t *w_h,
                             const pl_q_gate_t *gates, const int16_t *curves, const int8_t *h0, const int16_t *c0,
                             int8_t *y, int8_t *hn, int16_t *cn)
{
    const int32_t hidden = s->hidden, half = (int32_t)(1u << (29 - s->state));
    if (c0) {
        pl_copy(cn, c0, s->batch * hidden * 2);
    } else {
        pl_zero(cn, s->batch * hidden * 2);
    }
    for (int32_t n = 0; n < s->batch; n++) {
        const int8_t *h = h0 ? h0 + n * hidden : h0; // (hidden)
        int16_t *c = cn + n * hidden;                // (hidden)
        for (int32_t step = 0; step < s->steps; step++) {
            const int32_t t = s->reverse ? s->steps - 1 - step : step;
            const int8_t *in = x + (t * s->x_step + n * s->x_batch); // (input)
            int8_t *out = y + (t * s->y_step + n * s->y_batch);      // (hidden)
            for (int32_t j = 0; j < hidden; j++) {
                const int8_t *wx = w_x + j * s->input * 4, *wh = w_h + j * hidden * 4;
                const pl_q_gate_t *g = gates + 4 * j;
                const int32_t i = pl_q_curve(curves, pl_q_lstm_gate(s, in, h, wx, wh, g));
                const int32_t f = pl_q_curve(curves, pl_q_lstm_gate(s, in, h, wx + 1, wh + 1, g + 1));
                const int32_t u = pl_q_curve(curves + 257, pl_q_lstm_gate(s, in, h, wx + 2, wh + 2, g + 2));
                const int32_t o = pl_q_curve(curves, pl_q_lstm_gate(s, in, h, wx + 3, wh + 3, g + 3));
                const int32_t cell = pl_q_sat16(((f * c[j] + 16384) >> 15) + ((i * u + half) >> (30 - s->state)));
                c[j] = (int16_t)cell;
                out[j] = pl_q_hidden(s, (o * pl_q_curve(curves + 257, pl_q_sat16(cell * s->state_up)) + 16384) >> 15);
            }
            h = out;
        }
        if (h) {
            pl_copy(hn + n * hidden, h, hidden);
        }
    }
}

#endif
