/* The slots of the type Tensor. Only these files know the tables of operators: kernels call each other. */
#ifndef PT_TENSORTYPE_H
#define PT_TENSORTYPE_H

#include "tensor.h"

#include "generated/tables.h"

void pt_attr(mp_obj_t self, qstr name, mp_obj_t *dest);
mp_obj_t pt_unary(mp_unary_op_t op, mp_obj_t self);
mp_obj_t pt_binary(mp_binary_op_t op, mp_obj_t left, mp_obj_t right);
mp_obj_t pt_subscr(mp_obj_t self, mp_obj_t index, mp_obj_t value);

mp_obj_t pt_call(const pt_op_t *op, size_t n, size_t n_kw, const mp_obj_t *args);

/* Where names of operators are looked for: functions of torch, functions of its parts, methods. */
enum { PT_IN_TORCH = 'f', PT_IN_PARTS = 'n', PT_IN_TENSOR = 'm' };
/* The operator of a name as an object; MP_OBJ_NULL if there is none. */
mp_obj_t pt_operator(qstr name, int place);
MP_DECLARE_CONST_FUN_OBJ_0(pt_forget_obj);

#endif
