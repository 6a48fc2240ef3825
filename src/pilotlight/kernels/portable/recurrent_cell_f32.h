#ifndef PL_RECURRENT_CELL_F32_H
#define PL_RECURRENT_CELL_F32_H

#include <stddef.h>
#include <stdint.h>

#include "minmax_f32.h"
#include "sigmoid_f32.h"
#include "tanh_f32.h"

/* What recurrent layers do with the sums of one step: `hidden` numbers per gate, one gate after another. */

/* gates i, f, g, o -> c in place and y. */
static inline void pl_lstm_cell_f32(const float *gates, float *c, float *y, int32_t hidden)
{
    const float *f = gates + hidden;
    const float *g = f + hidden;
    const float *o = g + hidden;
    for (int32_t j = 0; j < hidden; j++) {
        c[j] = (pl_sigmoid_f32(f[j]) * c[j]) + (pl_sigmoid_f32(gates[j]) * pl_tanh_f32(g[j]));
        y[j] = pl_sigmoid_f32(o[j]) * pl_tanh_f32(c[j]);
    }
}

/* gates r, z, n: what x gives and, in `again`, what h gives -> y, which may be h. h may be null, which means
 * zeros. */
static inline void pl_gru_cell_f32(const float *gates, const float *again, const float *h, float *y, int32_t hidden)
{
    for (int32_t j = 0; j < hidden; j++) {
        const float reset = pl_sigmoid_f32(gates[j] + again[j]);
        const float update = pl_sigmoid_f32(gates[hidden + j] + again[hidden + j]);
        const float fresh = pl_tanh_f32(gates[(2 * hidden) + j] + (reset * again[(2 * hidden) + j]));
        y[j] = ((1.0f - update) * fresh) + ((h != NULL) ? (update * h[j]) : 0.0f);
    }
}

/* y in place. */
static inline void pl_rnn_cell_f32(float *y, int32_t hidden, int32_t relu)
{
    for (int32_t j = 0; j < hidden; j++) {
        y[j] = (relu != 0) ? pl_max_f32(y[j], 0.0f) : pl_tanh_f32(y[j]);
    }
}

#endif
