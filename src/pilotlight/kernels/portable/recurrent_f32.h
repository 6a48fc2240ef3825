#ifndef PL_RECURRENT_F32_H
#define PL_RECURRENT_F32_H

#include "linear_f32.h"

/* The shape of one layer and one direction of a recurrent network. Distances are in floats, from one step or one
 * sequence of the batch to the next, so that x may be (T, N, I) or (N, T, I), and y may be one half of a
 * bidirectional output. */
typedef struct {
    int32_t steps;
    int32_t batch;
    int32_t input;
    int32_t hidden;
    int32_t x_step;
    int32_t x_batch;
    int32_t y_step;
    int32_t y_batch;
    int32_t reverse; // from the last step to the first
} pl_recurrent_t;

/* One row through a linear layer; its outputs may start from what they hold, as its bias. */
static inline void pl_recurrent_row_f32(int32_t inputs, int32_t outputs, const float *x, const float *w,
                                        const float *bias, float *y)
{
    pl_linear_t s;
    s.n = 1;
    s.i = inputs;
    s.o = outputs;
    s.reverse = 0;
    s.act = PL_ACT_NONE;
    s.lo = 0.0f;
    s.hi = 0.0f;
    pl_linear_f32(&s, x, w, bias, y);
}

#endif
