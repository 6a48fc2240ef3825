#ifndef PL_RNN_F32_H
#define PL_RNN_F32_H

#include "mem.h"
#include "minmax_f32.h"
#include "recurrent_f32.h"
#include "tanh_f32.h"

/* a + w (n) times x (n); x may be null, which stands for zeros. */
static inline float pl_dot_f32(float a, const float *x, const float *w, int32_t n)
{
    for (int32_t k = 0; x && k < n; k++) {
        a += x[k] * w[k];
    }
    return a;
}

/* One layer and direction of a plain recurrent network, with tanh or relu. w_x (hidden, input) and w_h
 * (hidden, hidden) are PyTorch's, bias (hidden) is the sum of its two and may be null. h0 (batch, hidden) may be
 * null, which stands for zeros; hn may be null or h0. y holds every step's h; the step before is read from there,
 * so no scratch is needed. y must not overlap x. */
static inline void pl_rnn_f32(const pl_recurrent_t *s, const float *x, const float *w_x, const float *w_h,
                              const float *bias, const float *h0, float *y, float *hn, int32_t relu)
{
    const int32_t hidden = s->hidden;
    for (int32_t n = 0; n < s->batch; n++) {
        const float *h = h0 ? h0 + n * hidden : h0; // (hidden)
        for (int32_t step = 0; step < s->steps; step++) {
            const int32_t t = s->reverse ? s->steps - 1 - step : step;
            const float *in = x + (t * s->x_step + n * s->x_batch); // (input)
            float *out = y + (t * s->y_step + n * s->y_batch);      // (hidden)
            for (int32_t j = 0; j < hidden; j++) {
                float a = pl_dot_f32(bias ? bias[j] : 0.0f, in, w_x + j * s->input, s->input);
                a = pl_dot_f32(a, h, w_h + j * hidden, hidden);
                out[j] = relu ? pl_max_f32(a, 0.0f) : pl_tanh_f32(a);
            }
            h = out;
        }
        if (hn && h) {
            pl_copy(hn + n * hidden, h, hidden * (int32_t)sizeof(float));
        }
    }
}

#endif
