/* The slots of the type Tensor. The tables of operators are known to these files alone: kernels call each other. */
#ifndef PT_TENSORTYPE_H
#define PT_TENSORTYPE_H

#include "tensor.h"

#include "generated/tables.h"

void pt_attr(mp_obj_t self, qstr name, mp_obj_t *dest);
mp_obj_t pt_unary(mp_unary_op_t op, mp_obj_t self);
mp_obj_t pt_binary(mp_binary_op_t op, mp_obj_t left, mp_obj_t right);
mp_obj_t pt_subscr(mp_obj_t self, mp_obj_t index, mp_obj_t value);

/* Calls an operator of the build; `op` is a PT_OP_ macro, NULL where the build has none. */
mp_obj_t pt_call_op(const pt_op_t *op, qstr name, size_t n, const mp_obj_t *args);

#endif
