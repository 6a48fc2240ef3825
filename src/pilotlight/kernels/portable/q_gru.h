#ifndef PL_Q_GRU_H
#define PL_Q_GRU_H

#include <stddef.h>

#include "integer.h"
#include "mem.h"
#include "q_recurrent.h"
#include "rhmul.h"

/* The gates r, z, n of a unit, or their sums. */
typedef struct {
    int32_t r;
    int32_t z;
    int32_t n;
} pl_q_gru_gates_t;

/* a += x (n) times w (n, 3), three gates at once; the numbers of x are `step` apart, 0 repeats one. */
PL_Q_APART void pl_q_gru_dot(pl_q_gru_gates_t *a, const int8_t *x_start, const int8_t *w_start, int32_t n_start,
                             int32_t step)
{
    const int8_t *x = x_start;
    const int8_t *w = w_start;
    int32_t n = n_start;
    int32_t r = a->r;
    int32_t z = a->z;
    int32_t c = a->n;
    for (; n > 0; n--) {
        const int32_t v = *x;
        r += v * w[0];
        z += v * w[1];
        c += v * w[2];
        x = &x[step];
        w = &w[3];
    }
    a->r = r;
    a->z = z;
    a->n = c;
}

/* All steps of one batch: h (hidden) before the first, or one number for all if `moves` is 0; state (hidden) the same
 * in units of 2^-14, which is updated. Returns where the last h is. */
static inline const int8_t *pl_q_gru_steps(const pl_q_recurrent_t *s, int32_t n, const int8_t *x, const int8_t *w_x,
                                           const int8_t *w_h, const pl_q_gate_t *gates, const int16_t *curves,
                                           const int8_t *h_start, int32_t moves_start, int8_t *y, int16_t *state)
{
    const int32_t hidden = s->hidden;
    const int8_t *h = h_start;
    int32_t moves = moves_start;
    for (int32_t step = 0; step < s->steps; step++) {
        const int32_t t = (s->reverse != 0) ? (s->steps - 1 - step) : step;
        const int8_t *in = x + ((t * s->x_step) + (n * s->x_batch)); // (input)
        int8_t *out = y + ((t * s->y_step) + (n * s->y_batch));      // (hidden)
        for (int32_t j = 0; j < hidden; j++) {
            const pl_q_gate_t *g = gates + (3 * j);
            pl_q_gru_gates_t a = {g[0].bias_x, g[1].bias_x, g[2].bias_x};
            pl_q_gru_gates_t b = {g[0].bias_h, g[1].bias_h, g[2].bias_h};
            int32_t reset;
            int32_t update;
            int32_t fresh;
            int32_t kept;
            pl_q_gru_dot(&a, in, w_x + (j * s->input * 3), s->input, 1);
            pl_q_gru_dot(&b, h, w_h + (j * hidden * 3), hidden, moves);
            reset = pl_rhmul(a.r * s->up_x, g[0].m_x) + pl_rhmul(b.r * s->up_h, g[0].m_h);
            reset = pl_q_curve(curves, pl_q_sat16(reset));
            update = pl_rhmul(a.z * s->up_x, g[1].m_x) + pl_rhmul(b.z * s->up_h, g[1].m_h);
            update = pl_q_curve(curves, pl_q_sat16(update));
            fresh = pl_q_clamp(pl_rhmul(b.n * s->up_h, g[2].m_h), -65535, 65535);
            fresh = pl_shr((reset * fresh) + 16384, 15);
            fresh = pl_q_sat16(fresh + pl_rhmul(a.n * s->up_x, g[2].m_x));
            fresh = pl_q_curve(curves + 257, fresh);
            kept = pl_shr((update * state[j]) + 16384, 15);
            kept = pl_q_sat16(kept + pl_shr(((32768 - update) * fresh) + 32768, 16));
            state[j] = (int16_t)kept;
            out[j] = pl_q_hidden(s, kept);
        }
        h = out;
        moves = 1;
    }
    return h;
}

/* w_x (hidden, input, 3) and w_h (hidden, hidden, 3) hold the gates r, z, n of a unit side by side, gates (hidden, 3),
 * curves (2, 257) sigmoid and tanh. h0 (batch, hidden) may be null, which means zeros, or hn. y holds every step's
 * h for the products; scratch (hidden) keeps it in units of 2^-14 for the update. y must not overlap x. */
static inline void pl_q_gru(const pl_q_recurrent_t *s, const int8_t *x, const int8_t *w_x, const int8_t *w_h,
                            const pl_q_gate_t *gates, const int16_t *curves, const int8_t *h0, int8_t *y, int8_t *hn,
                            int16_t *scratch)
{
    const int8_t empty = (int8_t)s->zh;
    const int32_t hidden = s->hidden;
    for (int32_t n = 0; n < s->batch; n++) {
        const int8_t *h = (h0 != NULL) ? (h0 + (n * hidden)) : &empty; // (hidden), or one number for all
        const int32_t moves = (h0 != NULL) ? 1 : 0;
        for (int32_t j = 0; j < hidden; j++) {
            const int32_t first = pl_rhmul((h[j * moves] - s->zh) * s->state_up, s->state);
            scratch[j] = (int16_t)pl_q_sat16(first);
        }
        h = pl_q_gru_steps(s, n, x, w_x, w_h, gates, curves, h, moves, y, scratch);
        pl_copy(hn + (n * hidden), h, hidden);
    }
}

/* The same from a state that an earlier call left: h0 and hn (batch, hidden) in units of 2^-14, h0 may be hn; scratch
 * (hidden) holds the first h as the products see it. */
static inline void pl_q_gru_carried(const pl_q_recurrent_t *s, const int8_t *x, const int8_t *w_x, const int8_t *w_h,
                                    const pl_q_gate_t *gates, const int16_t *curves, const int16_t *h0, int8_t *y,
                                    int16_t *hn, int8_t *scratch)
{
    const int32_t hidden = s->hidden;
    for (int32_t n = 0; n < s->batch; n++) {
        for (int32_t j = 0; j < hidden; j++) {
            const int16_t before = h0[(n * hidden) + j];
            hn[(n * hidden) + j] = before;
            scratch[j] = pl_q_hidden(s, before);
        }
        (void)pl_q_gru_steps(s, n, x, w_x, w_h, gates, curves, scratch, 1, y, hn + (n * hidden));
    }
}

#endif
