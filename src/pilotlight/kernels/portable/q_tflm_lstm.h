#ifndef PL_Q_TFLM_LSTM_H
#define PL_Q_TFLM_LSTM_H

#include <stdint.h>

#include "mem.h"
#include "q_tflm_curve.h"
#include "tflm_wide.h"

/* A real factor as TFLM has it: q * 2^(shift - 31), or of 64-bit sums q * 2^(shift - 15). */
typedef struct {
    int32_t q;
    int32_t shift;
} pl_q_tflm_factor_t;

/* What brings the sums of a gate to units of 2^-12. */
typedef struct {
    pl_q_tflm_factor_t x;
    pl_q_tflm_factor_t h;
} pl_q_tflm_gate_t;

/* An LSTM whose cell has 16 bits. Distances are in elements, from one step or one sequence of the batch to the next.
 * Sigmoid and tanh come in units of 2^-15. */
typedef struct {
    int32_t steps;
    int32_t batch;
    int32_t input;
    int32_t hidden;
    int32_t x_step;
    int32_t x_batch;
    int32_t y_step;
    int32_t y_batch;
    int32_t clip;              // the cell is within -clip and clip; 0: no limit
    pl_q_tflm_factor_t tanh;   // of the cell: (c * q) / 2^shift
    pl_q_tflm_factor_t forget; // of forget gate times cell
    pl_q_tflm_factor_t update; // of input gate times cell gate
    pl_q_tflm_factor_t out;    // of output gate times tanh
    int32_t zh;
    int32_t lo;
    int32_t hi;
} pl_q_tflm_lstm_t;

static inline int32_t pl_q_tflm_sat16(int32_t v) { return pl_q_clamp(v, -32768, 32767); }

/* acc (4) += x (n) times w (n, 4): the four gates of a unit at once. */
PL_Q_APART void pl_q_tflm_gates(int32_t *acc, const int8_t *x, const int8_t *w_start, int32_t n)
{
    const int8_t *w = w_start;
    for (int32_t i = 0; i < n; i++) {
        const int32_t v = x[i];
        acc[0] += v * w[0];
        acc[1] += v * w[1];
        acc[2] += v * w[2];
        acc[3] += v * w[3];
        w = &w[4];
    }
}

/* bias + x (n) times every fourth number of w, of 16 bits: one gate. Up to 256 products have 32 bits. */
PL_Q_APART int64_t pl_q_tflm_gate_s16(const int16_t *x, const int8_t *w_start, int32_t n, int64_t bias)
{
    const int8_t *w = w_start;
    int64_t acc = bias;
    int32_t part = 0;
    for (int32_t i = 0; i < n; i++) {
        part += x[i] * *w;
        w = &w[4];
        if ((i & 255) == 255) {
            acc += part;
            part = 0;
        }
    }
    return acc + part;
}

/* The product of two numbers of 16 bits. */
static inline int32_t pl_q_tflm_product(const pl_q_tflm_factor_t *f, int32_t a, int32_t b, int32_t zero, int32_t lo,
                                        int32_t hi)
{
    return pl_tflm_output(a * b, f->q, f->shift, zero, lo, hi);
}

/* The cell and h of one unit from its gates i, f, g, o, which have 16 bits. */
static inline int32_t pl_q_tflm_cell(const pl_q_tflm_lstm_t *s, const int16_t *curve, const int32_t *gates, int16_t *c)
{
    const int32_t i = pl_tflm_logistic(curve, 3 * gates[0]);
    const int32_t f = pl_tflm_logistic(curve, 3 * gates[1]);
    const int32_t g = pl_tflm_tanh(curve, 3 * gates[2]);
    const int32_t o = pl_tflm_logistic(curve, 3 * gates[3]);
    const int32_t kept = pl_q_tflm_product(&s->forget, f, *c, 0, -32768, 32767);
    int32_t next = pl_q_tflm_sat16(kept + pl_q_tflm_product(&s->update, i, g, 0, -32768, 32767));
    if (s->clip > 0) {
        next = pl_q_clamp(next, -s->clip, s->clip);
    }
    *c = (int16_t)next;
    return pl_q_tflm_product(&s->out, pl_tflm_tanh(curve, pl_tflm_curve_input(next, s->tanh.q, s->tanh.shift)), o,
                             s->zh, s->lo, s->hi);
}

/* w_x (hidden, input, 4) and w_h (hidden, hidden, 4) hold the gates i, f, g, o of a unit side by side, biases (hidden,
 * 2, 4) those of x and of h, gates (4), curve (256). h0 and c0 (batch, hidden) may be hn and cn. y holds every step's
 * h; the step before is read from there. y must not overlap x or h0. */
static inline void pl_q_tflm_lstm(const pl_q_tflm_lstm_t *s, const int8_t *x, const int8_t *h0, const int16_t *c0,
                                  const int8_t *w_x, const int8_t *w_h, const int32_t *biases,
                                  const pl_q_tflm_gate_t *gates, const int16_t *curve, int8_t *y, int8_t *hn,
                                  int16_t *cn)
{
    pl_copy(cn, c0, s->batch * s->hidden * 2);
    for (int32_t n = 0; n < s->batch; n++) {
        const int8_t *h = h0 + (n * s->hidden);
        for (int32_t t = 0; t < s->steps; t++) {
            const int8_t *in = x + ((t * s->x_step) + (n * s->x_batch));
            int8_t *out = y + ((t * s->y_step) + (n * s->y_batch));
            for (int32_t j = 0; j < s->hidden; j++) {
                const int32_t *b = biases + (8 * j);
                int32_t from_x[4] = {b[0], b[1], b[2], b[3]};
                int32_t from_h[4] = {b[4], b[5], b[6], b[7]};
                pl_q_tflm_gates(from_x, in, w_x + (j * s->input * 4), s->input);
                pl_q_tflm_gates(from_h, h, w_h + (j * s->hidden * 4), s->hidden);
                for (int32_t k = 0; k < 4; k++) {
                    const pl_q_tflm_gate_t *g = gates + k;
                    from_x[k] = pl_q_tflm_sat16(pl_q_tflm_sat16(pl_tflm_scaled(from_x[k], g->x.q, g->x.shift))
                                                + pl_q_tflm_sat16(pl_tflm_scaled(from_h[k], g->h.q, g->h.shift)));
                }
                out[j] = (int8_t)pl_q_tflm_cell(s, curve, from_x, cn + ((n * s->hidden) + j));
            }
            h = out;
        }
        pl_copy(hn + (n * s->hidden), h, s->hidden);
    }
}

/* The same of 16 bits, whose zero points are 0: sums of 64 bits, biases (hidden, 4) of x alone. */
static inline void pl_q_tflm_lstm_s16(const pl_q_tflm_lstm_t *s, const int16_t *x, const int16_t *h0, const int16_t *c0,
                                      const int8_t *w_x, const int8_t *w_h, const int64_t *biases,
                                      const pl_q_tflm_gate_t *gates, const int16_t *curve, int16_t *y, int16_t *hn,
                                      int16_t *cn)
{
    pl_copy(cn, c0, s->batch * s->hidden * 2);
    for (int32_t n = 0; n < s->batch; n++) {
        const int16_t *h = h0 + (n * s->hidden);
        for (int32_t t = 0; t < s->steps; t++) {
            const int16_t *in = x + ((t * s->x_step) + (n * s->x_batch));
            int16_t *out = y + ((t * s->y_step) + (n * s->y_batch));
            for (int32_t j = 0; j < s->hidden; j++) {
                int32_t sums[4];
                for (int32_t k = 0; k < 4; k++) {
                    const pl_q_tflm_gate_t *g = gates + k;
                    const int64_t from_x =
                        pl_q_tflm_gate_s16(in, w_x + ((j * s->input * 4) + k), s->input, biases[(4 * j) + k]);
                    const int64_t from_h = pl_q_tflm_gate_s16(h, w_h + ((j * s->hidden * 4) + k), s->hidden, 0);
                    sums[k] = pl_q_tflm_sat16(pl_q_tflm_sat16(pl_tflm_scaled_wide(from_x, g->x.q, g->x.shift))
                                              + pl_q_tflm_sat16(pl_tflm_scaled_wide(from_h, g->h.q, g->h.shift)));
                }
                out[j] = (int16_t)pl_q_tflm_cell(s, curve, sums, cn + ((n * s->hidden) + j));
            }
            h = out;
        }
        pl_copy(hn + (n * s->hidden), h, s->hidden * 2);
    }
}

#endif
