#ifndef PL_LSTM_F32_H
#define PL_LSTM_F32_H

#include "mem.h"
#include "recurrent_f32.h"
#include "sigmoid_f32.h"
#include "tanh_f32.h"

/* a (4) += w (n, 4) times x (n), the four gates of a unit at once; x may be null, which stands for zeros. */
static inline void pl_gates_x4_f32(const float *x, const float *w, int32_t n, float *a)
{
    float a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
    for (int32_t k = 0; x && k < n; k++, w += 4) {
        const float v = x[k];
        a0 += v * w[0];
        a1 += v * w[1];
        a2 += v * w[2];
        a3 += v * w[3];
    }
    a[0] = a0;
    a[1] = a1;
    a[2] = a2;
    a[3] = a3;
}

/* One layer and direction of an LSTM. The gates i, f, g, o of a unit lie side by side: w_x (hidden, input, 4) and
 * w_h (hidden, hidden, 4) are packed from PyTorch's (4 * hidden, ...), bias (hidden, 4) is the sum of its two and
 * may be null. h0 and c0 (batch, hidden) may be null, which stands for zeros; hn may be null; c0 may be cn and h0
 * may be hn. y holds every step's h; the step before is read from there, so no scratch is needed. y must not
 * overlap x. */
static inline void pl_lstm_f32(const pl_recurrent_t *s, const float *x, const float *w_x, const float *w_h,
                               const float *bias, const float *h0, const float *c0, float *y, float *hn, float *cn)
{
    const int32_t hidden = s->hidden, bytes = hidden * (int32_t)sizeof(float);
    if (c0) {
        pl_copy(cn, c0, s->batch * bytes);
    } else {
        pl_zero(cn, s->batch * bytes);
    }
    for (int32_t n = 0; n < s->batch; n++) {
        const float *h = h0 ? h0 + n * hidden : h0; // (hidden)
        float *c = cn + n * hidden;                 // (hidden)
        for (int32_t step = 0; step < s->steps; step++) {
            const int32_t t = s->reverse ? s->steps - 1 - step : step;
            const float *in = x + (t * s->x_step + n * s->x_batch); // (input)
            float *out = y + (t * s->y_step + n * s->y_batch);      // (hidden)
            for (int32_t j = 0; j < hidden; j++) {
                const float *b = bias ? bias + 4 * j : bias;
                float a[4];
                a[0] = b ? b[0] : 0.0f;
                a[1] = b ? b[1] : 0.0f;
                a[2] = b ? b[2] : 0.0f;
                a[3] = b ? b[3] : 0.0f;
                pl_gates_x4_f32(in, w_x + j * s->input * 4, s->input, a);
                pl_gates_x4_f32(h, w_h + j * hidden * 4, hidden, a);
                c[j] = pl_sigmoid_f32(a[1]) * c[j] + pl_sigmoid_f32(a[0]) * pl_tanh_f32(a[2]);
                out[j] = pl_sigmoid_f32(a[3]) * pl_tanh_f32(c[j]);
            }
            h = out;
        }
        if (hn && h) {
            pl_copy(hn + n * hidden, h, bytes);
        }
    }
}

#endif
