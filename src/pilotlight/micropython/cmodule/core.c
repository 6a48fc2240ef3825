/* Tensors in MicroPython's own operators, containers and builtins. */
#include "core.h"

mp_obj_t pt_compare(mp_binary_op_t op, mp_obj_t left, mp_obj_t right)
{
    const mp_obj_t result = pt_operate(op, left, right);
    return op <= MP_BINARY_OP_NOT_EQUAL ? mp_obj_new_bool(mp_obj_is_true(result)) : result;
}

bool pt_same_item(mp_obj_t a, mp_obj_t b) { return (a == b && pt_is_tensor(a)) || mp_obj_equal(a, b); }

bool pt_same_key(mp_obj_t a, mp_obj_t b) { return pt_is_tensor(a) || pt_is_tensor(b) ? a == b : mp_obj_equal(a, b); }
