#ifndef PL_Q_LSTM_H
#define PL_Q_LSTM_H

#include <stddef.h>

#include "integer.h"
#include "mem.h"
#include "q_recurrent.h"
#include "rhmul.h"

/* Sums of the four gates of a unit. */
typedef struct {
    int32_t i;
    int32_t f;
    int32_t g;
    int32_t o;
} pl_q_lstm_sums_t;

/* a += x (n) times w (n, 4), four gates at once; the numbers of x are `step` apart, 0 repeats one. */
PL_Q_APART void pl_q_lstm_dot(pl_q_lstm_sums_t *a, const int8_t *x_start, const int8_t *w_start, int32_t n,
                              int32_t step)
{
    const int8_t *x = x_start;
    const int8_t *w = w_start;
    int32_t i = a->i;
    int32_t f = a->f;
    int32_t g = a->g;
    int32_t o = a->o;
    for (int32_t left = n; left > 0; left--) {
        const int32_t v = *x;
        i += v * w[0];
        f += v * w[1];
        g += v * w[2];
        o += v * w[3];
        x = &x[step];
        w = &w[4];
    }
    a->i = i;
    a->f = f;
    a->g = g;
    a->o = o;
}

/* A gate from its two sums. */
static inline int32_t pl_q_lstm_gate(const pl_q_recurrent_t *s, const pl_q_gate_t *g, int32_t a, int32_t b)
{
    return pl_q_sat16(pl_rhmul(a * s->up_x, g->m_x) + pl_rhmul(b * s->up_h, g->m_h));
}

/* w_x (hidden, input, 4) and w_h (hidden, hidden, 4) hold the gates i, f, g, o of a unit side by side, gates (hidden,
 * 4), curves (2, 257) sigmoid and tanh. h0 (batch, hidden) and c0 may be null, which means zeros; h0 may be hn,
 * c0 may be cn. y holds every step's h; the step before is read from there. y must not overlap x. */
static inline void pl_q_lstm(const pl_q_recurrent_t *s, const int8_t *x, const int8_t *w_x, const int8_t *w_h,
                             const pl_q_gate_t *gates, const int16_t *curves, const int8_t *h0, const int16_t *c0,
                             int8_t *y, int8_t *hn, int16_t *cn)
{
    const int8_t empty = (int8_t)s->zh;
    const int32_t hidden = s->hidden;
    const int32_t half = pl_signed(1u << pl_unsigned(29 - s->state));
    if (c0 != NULL) {
        pl_copy(cn, c0, s->batch * hidden * 2);
    } else {
        pl_zero(cn, s->batch * hidden * 2);
    }
    for (int32_t n = 0; n < s->batch; n++) {
        const int8_t *h = (h0 != NULL) ? (h0 + (n * hidden)) : &empty; // (hidden), or one number for all
        int32_t moves = (h0 != NULL) ? 1 : 0;
        int16_t *c = cn + (n * hidden); // (hidden)
        for (int32_t step = 0; step < s->steps; step++) {
            const int32_t t = (s->reverse != 0) ? (s->steps - 1 - step) : step;
            const int8_t *in = x + ((t * s->x_step) + (n * s->x_batch)); // (input)
            int8_t *out = y + ((t * s->y_step) + (n * s->y_batch));      // (hidden)
            for (int32_t j = 0; j < hidden; j++) {
                const pl_q_gate_t *g = gates + (4 * j);
                pl_q_lstm_sums_t a = {g[0].bias_x, g[1].bias_x, g[2].bias_x, g[3].bias_x};
                pl_q_lstm_sums_t b = {g[0].bias_h, g[1].bias_h, g[2].bias_h, g[3].bias_h};
                int32_t i;
                int32_t f;
                int32_t u;
                int32_t o;
                int32_t next;
                pl_q_lstm_dot(&a, in, w_x + (j * s->input * 4), s->input, 1);
                pl_q_lstm_dot(&b, h, w_h + (j * hidden * 4), hidden, moves);
                i = pl_q_curve(curves, pl_q_lstm_gate(s, g, a.i, b.i));
                f = pl_q_curve(curves, pl_q_lstm_gate(s, g + 1, a.f, b.f));
                u = pl_q_curve(curves + 257, pl_q_lstm_gate(s, g + 2, a.g, b.g));
                o = pl_q_curve(curves, pl_q_lstm_gate(s, g + 3, a.o, b.o));
                next = pl_q_sat16(pl_shr((f * c[j]) + 16384, 15) + pl_shr_by((i * u) + half, 30 - s->state));
                c[j] = (int16_t)next;
                out[j] =
                    pl_q_hidden(s, pl_shr((o * pl_q_curve(curves + 257, pl_q_sat16(next * s->state_up))) + 16384, 15));
            }
            h = out;
            moves = 1;
        }
        pl_copy(hn + (n * hidden), h, hidden);
    }
}

#endif
