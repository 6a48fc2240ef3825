/* Tensors in MicroPython's own containers and builtins. */
#include "core.h"

/* With only the right operand a tensor, as Python reverses comparisons. */
static const uint8_t turned[] = {
    [MP_BINARY_OP_LESS] = MP_BINARY_OP_MORE,
    [MP_BINARY_OP_MORE] = MP_BINARY_OP_LESS,
    [MP_BINARY_OP_EQUAL] = MP_BINARY_OP_EQUAL,
    [MP_BINARY_OP_LESS_EQUAL] = MP_BINARY_OP_MORE_EQUAL,
    [MP_BINARY_OP_MORE_EQUAL] = MP_BINARY_OP_LESS_EQUAL,
    [MP_BINARY_OP_NOT_EQUAL] = MP_BINARY_OP_NOT_EQUAL,
};

mp_obj_t pt_compare(mp_binary_op_t op, mp_obj_t left, mp_obj_t right)
{
    if ((size_t)op >= MP_ARRAY_SIZE(turned)) {
        return mp_binary_op(op, left, right);
    }
    const bool turn = pt_is_tensor(right) && !pt_is_tensor(left);
    return mp_obj_new_bool(
        mp_obj_is_true(turn ? mp_binary_op(turned[op], right, left) : mp_binary_op(op, left, right)));
}

bool pt_same_item(mp_obj_t a, mp_obj_t b) { return (a == b && pt_is_tensor(a)) || mp_obj_equal(a, b); }

bool pt_same_key(mp_obj_t a, mp_obj_t b) { return pt_is_tensor(a) || pt_is_tensor(b) ? a == b : mp_obj_equal(a, b); }
