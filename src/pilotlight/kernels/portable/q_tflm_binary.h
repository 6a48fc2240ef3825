#ifndef PL_Q_TFLM_BINARY_H
#define PL_Q_TFLM_BINARY_H

#include "tflm.h"

/* How TFLM scales a number: (x - z) << left, times q * 2^(shift - 31). */
typedef struct {
    int32_t z;
    int32_t q;
    int32_t shift;
} pl_q_tflm_operand_t;

/* What operators of two tensors have: how operands are scaled, and the result of both. */
typedef struct {
    pl_q_tflm_operand_t x0;
    pl_q_tflm_operand_t x1;
    pl_q_tflm_operand_t y;
    int32_t left; // of the operands
    int32_t sign; // of the second one in a sum
    int32_t lo;
    int32_t hi;
} pl_q_tflm_binary_t;

static inline int32_t pl_q_tflm_operand(const pl_q_tflm_operand_t *t, int32_t x, int32_t left)
{
    return pl_tflm_scaled(pl_signed((uint32_t)pl_unsigned(x - t->z) << (uint32_t)left), t->q, t->shift);
}

static inline int32_t pl_q_tflm_result(const pl_q_tflm_binary_t *t, int32_t v)
{
    return pl_tflm_output(v, t->y.q, t->y.shift, t->y.z, t->lo, t->hi);
}

/* x0 + sign * x1 */
static inline int32_t pl_q_tflm_added(const pl_q_tflm_binary_t *t, int32_t x0, int32_t x1)
{
    return pl_q_tflm_result(t, pl_q_tflm_operand(&t->x0, x0, t->left)
                                   + (t->sign * pl_q_tflm_operand(&t->x1, x1, t->left)));
}

/* (x0 - x1)^2 */
static inline int32_t pl_q_tflm_squared(const pl_q_tflm_binary_t *t, int32_t x0, int32_t x1)
{
    const int32_t d = pl_q_tflm_operand(&t->x0, x0, t->left) - pl_q_tflm_operand(&t->x1, x1, t->left);
    return pl_q_tflm_result(t, pl_signed((uint32_t)d * (uint32_t)d));
}

/* x0 * x1 */
static inline int32_t pl_q_tflm_multiplied(const pl_q_tflm_binary_t *t, int32_t x0, int32_t x1)
{
    return pl_q_tflm_result(t, (x0 - t->x0.z) * (x1 - t->x1.z));
}

#endif
