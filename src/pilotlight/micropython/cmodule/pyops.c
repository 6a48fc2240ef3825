/* Python's operators on tensors. */
#include "call.h"
#include "core.h"
#include "record.h"
#include "tensortype.h"

/* `op` is a PT_OP_ macro, NULL if the build has none. */
static mp_obj_t call(const pt_op_t *op, size_t n, const mp_obj_t *args)
{
    if (!op) {
        mp_raise_msg(&mp_type_NotImplementedError, MP_ERROR_TEXT("the operator is not in this build"));
    }
    return pt_call(op, n, 0, args);
}
#define CALL(name, n, args) call(PT_OP_##name, n, args)

static const pt_op_t *const complex_op = PT_OP__fft_rows; /* NULL: a build without complex numbers */

static mp_obj_t one_number(pt_tensor_t *t)
{
    if (pt_numel(t) != 1) {
        mp_raise_ValueError(MP_ERROR_TEXT("only one element tensors can be converted to Python scalars"));
    }
    return pt_item(t, 0);
}

static const pt_op_t *const not_op = PT_OP_bitwise_not, *const float_op = PT_OP___float__;

mp_obj_t pt_unary(mp_unary_op_t op, mp_obj_t self)
{
    pt_tensor_t *t = pt_tensor(self);
    switch (op) {
        case MP_UNARY_OP_BOOL:
            if (pt_numel(t) != 1) {
                mp_raise_msg(&mp_type_RuntimeError,
                    pt_numel(t) ? MP_ERROR_TEXT("Boolean value of Tensor with more than one value is ambiguous")
                                : MP_ERROR_TEXT("Boolean value of Tensor with no values is ambiguous"));
            }
            return mp_obj_new_bool(mp_obj_is_true(pt_item(t, 0)));
        case MP_UNARY_OP_LEN:
            if (t->ndim == 0) {
                mp_raise_TypeError(MP_ERROR_TEXT("len() of a 0-d tensor"));
            }
            return mp_obj_new_int(t->dims[0]);
        case MP_UNARY_OP_HASH:
            return MP_OBJ_NEW_SMALL_INT((mp_int_t)((uintptr_t)t >> 4));
        case MP_UNARY_OP_INT_MAYBE: {
            const mp_obj_t number = one_number(t);
            return mp_obj_is_float(number) ? mp_obj_new_int_from_float(mp_obj_get_float(number))
                : mp_obj_is_bool(number)   ? MP_OBJ_NEW_SMALL_INT(mp_obj_is_true(number))
                                           : number;
        }
        case MP_UNARY_OP_FLOAT_MAYBE:
            PT_RECORD_CALL(MP_QSTR___float__);
            return float_op ? mp_obj_new_float(mp_obj_get_float(one_number(t))) : MP_OBJ_NULL;
        case MP_UNARY_OP_POSITIVE:
            if (t->dtype == PT_BOOL) {
                mp_raise_msg(
                    &mp_type_RuntimeError, MP_ERROR_TEXT("The `+` operator, on a bool tensor is not supported."));
            }
            return self;
        case MP_UNARY_OP_NEGATIVE:
            return CALL(neg, 1, &self);
        case MP_UNARY_OP_INVERT:
            if (not_op && pt_is_float(t->dtype)) {
                mp_raise_TypeError(
                    MP_ERROR_TEXT("~ (operator.invert) is only implemented on integer and Boolean-type tensors"));
            }
            return CALL(bitwise_not, 1, &self);
        case MP_UNARY_OP_ABS:
            return CALL(abs, 1, &self);
        default:
            return MP_OBJ_NULL;
    }
}

/* Some operators have only Python's name, others have a name for the form with a number on the left. */
static const pt_op_t *const binary_ops[MP_BINARY_OP_NUM_RUNTIME] = {
    [MP_BINARY_OP_LESS] = PT_OP_lt,
    [MP_BINARY_OP_MORE] = PT_OP_gt,
    [MP_BINARY_OP_EQUAL] = PT_OP_eq,
    [MP_BINARY_OP_LESS_EQUAL] = PT_OP_le,
    [MP_BINARY_OP_MORE_EQUAL] = PT_OP_ge,
    [MP_BINARY_OP_NOT_EQUAL] = PT_OP_ne,
    [MP_BINARY_OP_OR] = PT_OP_bitwise_or,
    [MP_BINARY_OP_XOR] = PT_OP_bitwise_xor,
    [MP_BINARY_OP_AND] = PT_OP_bitwise_and,
    [MP_BINARY_OP_LSHIFT] = PT_OP_bitwise_left_shift,
    [MP_BINARY_OP_RSHIFT] = PT_OP_bitwise_right_shift,
    [MP_BINARY_OP_ADD] = PT_OP_add,
    [MP_BINARY_OP_SUBTRACT] = PT_OP_sub,
    [MP_BINARY_OP_MULTIPLY] = PT_OP_mul,
    [MP_BINARY_OP_FLOOR_DIVIDE] = PT_OP_floor_divide,
    [MP_BINARY_OP_TRUE_DIVIDE] = PT_OP_div,
    [MP_BINARY_OP_MODULO] = PT_OP_remainder,
    [MP_BINARY_OP_POWER] = PT_OP_pow,
    [MP_BINARY_OP_MAT_MULTIPLY] = PT_OP_matmul,
    [MP_BINARY_OP_INPLACE_OR] = PT_OP_bitwise_or_,
    [MP_BINARY_OP_INPLACE_XOR] = PT_OP_bitwise_xor_,
    [MP_BINARY_OP_INPLACE_AND] = PT_OP_bitwise_and_,
    [MP_BINARY_OP_INPLACE_LSHIFT] = PT_OP_bitwise_left_shift_,
    [MP_BINARY_OP_INPLACE_RSHIFT] = PT_OP_bitwise_right_shift_,
    [MP_BINARY_OP_INPLACE_ADD] = PT_OP_add_,
    [MP_BINARY_OP_INPLACE_SUBTRACT] = PT_OP_sub_,
    [MP_BINARY_OP_INPLACE_MULTIPLY] = PT_OP_mul_,
    [MP_BINARY_OP_INPLACE_FLOOR_DIVIDE] = PT_OP_floor_divide_,
    [MP_BINARY_OP_INPLACE_TRUE_DIVIDE] = PT_OP_div_,
    [MP_BINARY_OP_INPLACE_MODULO] = PT_OP_remainder_,
    [MP_BINARY_OP_INPLACE_POWER] = PT_OP_pow_,
};

/* What PyTorch does for a number on the left; `args` are the tensor and the number. */
static mp_obj_t reversed(mp_binary_op_t op, const mp_obj_t *args)
{
    const mp_obj_t swapped[] = {args[1], args[0]};
    switch (op) {
        case MP_BINARY_OP_REVERSE_SUBTRACT:
            return CALL(rsub, 2, args);
        case MP_BINARY_OP_REVERSE_TRUE_DIVIDE: {
            const mp_obj_t parts[] = {CALL(reciprocal, 1, args), args[1]};
            return CALL(mul, 2, parts);
        }
        case MP_BINARY_OP_REVERSE_ADD:
        case MP_BINARY_OP_REVERSE_MULTIPLY:
        case MP_BINARY_OP_REVERSE_AND:
        case MP_BINARY_OP_REVERSE_OR:
        case MP_BINARY_OP_REVERSE_XOR:
            return pt_binary(op - MP_BINARY_OP_REVERSE_OR + MP_BINARY_OP_OR, args[0], args[1]);
        case MP_BINARY_OP_REVERSE_MAT_MULTIPLY:
            return MP_OBJ_NULL;
        default: {
            const mp_binary_op_t plain = op - MP_BINARY_OP_REVERSE_OR + MP_BINARY_OP_OR;
            return binary_ops[plain] ? pt_call(binary_ops[plain], 2, 0, swapped) : MP_OBJ_NULL;
        }
    }
}

static mp_obj_t contains(const mp_obj_t *args)
{
    if (!pt_is_tensor(args[1]) && pt_number_dtype(args[1]) < 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("Tensor.__contains__ only supports Tensor or scalar, but you passed in a <class '%s'>."),
            mp_obj_get_type_str(args[1]));
    }
    const pt_tensor_t *same = pt_tensor(CALL(eq, 2, args));
    return mp_obj_new_bool(memchr(same->data, 1, (size_t)pt_numel(same)) != NULL);
}

/* An in-place operator may have no entry of its own in the tables, only the functional one's. */
static mp_obj_t change(const pt_op_t *op, const mp_obj_t *args)
{
    if (!op || op->in_place) { /* without an error, MicroPython would make a new tensor with the old one's name */
        return call(op, 2, args);
    }
    pt_op_t own = *op;
    own.name = PT_CHANGED_NAME(own.name);
    own.in_place = true;
    return pt_call(&own, 2, 0, args);
}

mp_obj_t pt_binary(mp_binary_op_t op, mp_obj_t left, mp_obj_t right)
{
    const mp_obj_t args[] = {left, right};
    if (!PT_HAS_OPERATORS) {
        return MP_OBJ_NULL;
    }
    if (op == MP_BINARY_OP_CONTAINS) {
        return contains(args);
    }
    const bool matmul = op == MP_BINARY_OP_MAT_MULTIPLY || op == MP_BINARY_OP_INPLACE_MAT_MULTIPLY;
    if (!pt_is_tensor(right) && (matmul || pt_number_dtype(right) < 0)) {
        mp_obj_t method[2];
        if (complex_op && op >= MP_BINARY_OP_INPLACE_OR && op <= MP_BINARY_OP_INPLACE_POWER
            && pt_has_function(right, method)) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("result type %s can't be cast to the desired output type %s"), "ComplexFloat",
                pt_dtypes[pt_tensor(left)->dtype].type);
        }
        return MP_OBJ_NULL;
    }
    if (op >= MP_BINARY_OP_REVERSE_OR && op <= MP_BINARY_OP_REVERSE_POWER) {
        return reversed(op, args);
    }
    if (op >= MP_BINARY_OP_INPLACE_OR && op <= MP_BINARY_OP_INPLACE_POWER && !matmul) {
        return change(binary_ops[op], args);
    }
    return (size_t)op < MP_ARRAY_SIZE(binary_ops) && binary_ops[op] ? pt_call(binary_ops[op], 2, 0, args) : MP_OBJ_NULL;
}

/* With only the right operand a tensor, as Python reverses comparisons. */
static const uint8_t turned[] = {
    [MP_BINARY_OP_LESS] = MP_BINARY_OP_MORE,
    [MP_BINARY_OP_MORE] = MP_BINARY_OP_LESS,
    [MP_BINARY_OP_EQUAL] = MP_BINARY_OP_EQUAL,
    [MP_BINARY_OP_LESS_EQUAL] = MP_BINARY_OP_MORE_EQUAL,
    [MP_BINARY_OP_MORE_EQUAL] = MP_BINARY_OP_LESS_EQUAL,
    [MP_BINARY_OP_NOT_EQUAL] = MP_BINARY_OP_NOT_EQUAL,
};

mp_obj_t pt_operate(mp_binary_op_t op, mp_obj_t left, mp_obj_t right)
{
    if (PT_HAS_OPERATORS && pt_is_tensor(right) && pt_number_dtype(left) >= 0) {
        if ((size_t)op < MP_ARRAY_SIZE(turned)) {
            return mp_binary_op(turned[op], right, left);
        }
        if (op >= MP_BINARY_OP_INPLACE_OR && op <= MP_BINARY_OP_INPLACE_POWER) {
            op += MP_BINARY_OP_OR - MP_BINARY_OP_INPLACE_OR;
        }
        if (op >= MP_BINARY_OP_OR && op <= MP_BINARY_OP_POWER) {
            return mp_binary_op(op + MP_BINARY_OP_REVERSE_OR - MP_BINARY_OP_OR, right, left);
        }
    }
    return mp_binary_op(op, left, right);
}

bool pt_float_maybe(mp_obj_t o, mp_float_t *value)
{
    return !(float_op && pt_is_tensor(o)) && mp_obj_get_float_maybe(o, value);
}

bool pt_complex_maybe(mp_obj_t o, mp_float_t *real, mp_float_t *imaginary)
{
    return !(float_op && pt_is_tensor(o)) && mp_obj_get_complex_maybe(o, real, imaginary);
}

bool pt_text_buffer(mp_obj_t o, mp_buffer_info_t *info, mp_uint_t flags)
{
    return !(float_op && pt_is_tensor(o)) && mp_get_buffer(o, info, flags);
}
