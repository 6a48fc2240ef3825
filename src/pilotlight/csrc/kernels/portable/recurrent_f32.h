#ifndef PL_RECURRENT_F32_H
#define PL_RECURRENT_F32_H

#include <stdint.h>

/* The shape of one layer and one direction of a recurrent network. Distances are in floats, from one step or one
 * sequence of the batch to the next, so that x may be (T, N, I) or (N, T, I), and y may be one half of a
 * bidirectional output. */
typedef struct {
    int32_t steps, batch, input, hidden;
    int32_t x_step, x_batch;
    int32_t y_step, y_batch;
    int32_t reverse; // from the last step to the first
} pl_recurrent_t;

#endif
