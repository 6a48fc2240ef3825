#ifndef PL_GRU_F32_H
#define PL_GRU_F32_H

#include "mem.h"
#include "recurrent_f32.h"
#include "sigmoid_f32.h"
#include "tanh_f32.h"

/* The gates r, z, n of one unit. */
typedef struct {
    float r, z, n;
} pl_gru_gates_t;

/* a += w (n, 3) times x (n), three gates at once; x may be null, which stands for zeros. */
static inline void pl_gates_x3_f32(pl_gru_gates_t *a, const float *x, const float *w, int32_t n)
{
    float r = a->r, z = a->z, c = a->n;
    for (int32_t k = 0; x && k < n; k++, w += 3) {
        const float v = x[k];
        r += v * w[0];
        z += v * w[1];
        c += v * w[2];
    }
    a->r = r;
    a->z = z;
    a->n = c;
}

/* One layer and direction of a GRU. The gates r, z, n of a unit lie side by side: w_x (hidden, input, 3) and w_h
 * (hidden, hidden, 3) are packed from PyTorch's (3 * hidden, ...), bias (hidden, 4) is b_r and b_z (the sums of
 * PyTorch's two), b_in and b_hn, and may be null. h0 (batch, hidden) may be null, which stands for zeros; hn may
 * be null or h0. y holds every step's h; the step before is read from there, so no scratch is needed. y must not
 * overlap x. */
static inline void pl_gru_f32(const pl_recurrent_t *s, const float *x, const float *w_x, const float *w_h,
                              const float *bias, const float *h0, float *y, float *hn)
{
    const int32_t hidden = s->hidden;
    for (int32_t n = 0; n < s->batch; n++) {
        const float *h = h0 ? h0 + n * hidden : h0; // (hidden)
        for (int32_t step = 0; step < s->steps; step++) {
            const int32_t t = s->reverse ? s->steps - 1 - step : step;
            const float *in = x + (t * s->x_step + n * s->x_batch); // (input)
            float *out = y + (t * s->y_step + n * s->y_batch);      // (hidden)
            for (int32_t j = 0; j < hidden; j++) {
                const float *b = bias ? bias + 4 * j : bias;
                pl_gru_gates_t a = {b ? b[0] : 0.0f, b ? b[1] : 0.0f, b ? b[2] : 0.0f};
                float from_x, update, candidate;
                pl_gates_x3_f32(&a, in, w_x + j * s->input * 3, s->input);
                from_x = a.n;
                a.n = b ? b[3] : 0.0f;
                pl_gates_x3_f32(&a, h, w_h + j * hidden * 3, hidden);
                update = pl_sigmoid_f32(a.z);
                candidate = pl_tanh_f32(from_x + pl_sigmoid_f32(a.r) * a.n);
                out[j] = (1.0f - update) * candidate + (h ? update * h[j] : 0.0f);
            }
            h = out;
        }
        if (hn && h) {
            pl_copy(hn + n * hidden, h, hidden * (int32_t)sizeof(float));
        }
    }
}

#endif
