#ifndef PL_Q_RECURRENT_H
#define PL_Q_RECURRENT_H

#include "integer.h"
#include "q_clamp.h"

/* One layer and one direction of a recurrent network of int8. Distances are in elements, from one step or one sequence
 * of the batch to the next. Gates are numbers in units of 2^-12, their sigmoid and tanh in units of 2^-15. */
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
    int32_t zh;      // the zero point of y
    int32_t up_x;    // of the two accumulators, powers of two
    int32_t up_h;
    int32_t state; // LSTM: fraction bits of the cell; GRU: y's steps in units of 2^-14
    int32_t state_up;
    int32_t out; // y = (h * out + begin) >> shift
    int32_t begin;
    int32_t shift;
} pl_q_recurrent_t;

/* What brings the sums of one gate of one unit to a gate's unit. */
typedef struct {
    int32_t bias_x;
    int32_t m_x;
    int32_t bias_h;
    int32_t m_h;
} pl_q_gate_t;

static inline int32_t pl_q_sat16(int32_t v) { return pl_q_clamp(v, -32768, 32767); }

/* A function from -8 to 8 by its table (257), linear in between. */
static inline int32_t pl_q_curve(const int16_t *table, int32_t v)
{
    const int16_t *t = table + pl_shr(v + 32768, 8);
    return t[0] + pl_shr(((t[1] - t[0]) * (v & 255)) + 128, 8);
}

static inline int8_t pl_q_hidden(const pl_q_recurrent_t *s, int32_t h)
{
    return (int8_t)pl_q_clamp(pl_shr_by((h * s->out) + s->begin, s->shift), -128, 127);
}

#endif
