/* Pointwise operators that need more than a row: options, numbers that choose the row, their own errors. */
#include "tensor.h"

#include "generated/rows.h"

static NORETURN void refuse(mp_rom_error_text_t text) { mp_raise_msg(&mp_type_RuntimeError, text); }

static mp_obj_t map(pt_call_t *c, const pt_pointwise_t *row, mp_obj_t a, mp_obj_t b, mp_obj_t d)
{
    const mp_obj_t operands[] = {a, b, d};
    return MP_OBJ_FROM_PTR(pt_map(c, row, operands));
}

/* A step of several: its result is a new tensor. */
static mp_obj_t step(pt_call_t *c, const pt_pointwise_t *row, mp_obj_t a, mp_obj_t b)
{
    pt_tensor_t *out = c->out;
    c->out = NULL;
    const mp_obj_t result = map(c, row, a, b, MP_OBJ_NULL);
    c->out = out;
    return result;
}

static bool is_bool(mp_obj_t o) { return pt_is_tensor(o) ? pt_tensor(o)->dtype == PT_BOOL : mp_obj_is_bool(o); }

/* A number must fit the integer type that it is written to or compared in. */
void pt_check_fits(mp_obj_t number, int dtype)
{
    if (pt_is_float(dtype) || dtype == PT_BOOL || mp_obj_is_float(number)) {
        return;
    }
    const int64_t v = pt_int64(number);
    const int bits = pt_size(dtype) * 8;
    const int64_t most = dtype == PT_UINT8 ? 255 : (int64_t)(UINT64_MAX >> (65 - bits));
    if (v > most || v < -most - 1) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("value cannot be converted to type %q_t without overflow"), pt_dtypes[dtype].name);
    }
}

/* ---- sums, powers, quotients ------------------------------------------------------------------------------------ */

static mp_obj_t with_alpha(pt_call_t *c, const pt_pointwise_t *row, mp_obj_t a, mp_obj_t b)
{
    const mp_obj_t alpha = c->args[2].object, both[] = {a, b};
    const int dtype = pt_result_type(2, both);
    if (!pt_is_float(dtype) && mp_obj_is_float(alpha)) {
        refuse(MP_ERROR_TEXT("For integral input tensors, argument alpha must not be a floating point number."));
    }
    if (dtype != PT_BOOL && mp_obj_is_bool(alpha)) {
        refuse(MP_ERROR_TEXT("Boolean alpha only supported for Boolean results."));
    }
    return map(c, row, a, b, alpha);
}

mp_obj_t pt_do_add(pt_call_t *c)
{
    if (c->args[2].object == MP_OBJ_NEW_SMALL_INT(1)) {
        return pt_pointwise(c);
    }
    return with_alpha(c, &pt_row_add_alpha, c->args[0].object, c->args[1].object);
}

/* sub, and rsub with its operands exchanged: overload->data.number. */
mp_obj_t pt_do_sub(pt_call_t *c)
{
    const int swap = (int)c->overload->data.number;
    const mp_obj_t a = c->args[swap].object, b = c->args[1 - swap].object;
    if (is_bool(a) && is_bool(b)) {
        refuse(MP_ERROR_TEXT("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                             "`logical_xor()` operator instead."));
    }
    if (is_bool(a) || is_bool(b)) {
        refuse(MP_ERROR_TEXT("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
                             "invert a mask, use the `~` or `logical_not()` operator instead."));
    }
    if (c->args[2].object == MP_OBJ_NEW_SMALL_INT(1)) {
        return map(c, &pt_row_sub, a, b, MP_OBJ_NULL);
    }
    return with_alpha(c, &pt_row_sub_alpha, a, b);
}

mp_obj_t pt_do_neg(pt_call_t *c)
{
    if (is_bool(c->args[0].object)) {
        refuse(
            MP_ERROR_TEXT("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert "
                          "a mask, use the `~` or `logical_not()` operator instead."));
    }
    return pt_pointwise(c);
}

mp_obj_t pt_do_div_mode(pt_call_t *c)
{
    const pt_pointwise_t *row = &pt_row_div;
    if (c->args[2].given) {
        const char *mode = mp_obj_str_get_str(c->args[2].object);
        row = strcmp(mode, "floor") == 0 ? &pt_row_floor_divide
            : strcmp(mode, "trunc") == 0 ? &pt_row_trunc_divide
                                         : NULL;
        if (!row) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'"),
                mode);
        }
    }
    return map(c, row, c->args[0].object, c->args[1].object, MP_OBJ_NULL);
}

mp_obj_t pt_do_pow(pt_call_t *c)
{
    const mp_obj_t base = c->args[0].object, exponent = c->args[1].object, both[] = {base, exponent};
    const int dtype = pt_result_type(2, both);
    if (!pt_is_tensor(exponent)) {
        const mp_float_t e = mp_obj_get_float(exponent);
        if (!pt_is_float(dtype) && e < 0) {
            refuse(MP_ERROR_TEXT("Integers to negative integer powers are not allowed."));
        }
        pt_check_fits(exponent, dtype);
        if (pt_tensor(base)->dtype == dtype) { /* exact, and much faster */
            const pt_pointwise_t *row = e == 2 ? &pt_row_square
                : !pt_is_float(dtype)          ? NULL
                : e == (mp_float_t)0.5         ? &pt_row_sqrt
                : e == (mp_float_t)-0.5        ? &pt_row_rsqrt
                : e == -1                      ? &pt_row_reciprocal
                                               : NULL;
            if (row) {
                return map(c, row, base, MP_OBJ_NULL, MP_OBJ_NULL);
            }
            if (e == 3) {
                return map(c, &pt_row_mul, step(c, &pt_row_square, base, MP_OBJ_NULL), base, MP_OBJ_NULL);
            }
        }
    }
    return map(c, &pt_row_pow, base, exponent, MP_OBJ_NULL);
}

mp_obj_t pt_do_square(pt_call_t *c) /* of a bool it is an integer */
{
    const mp_obj_t x = c->args[0].object;
    return map(c, is_bool(x) ? &pt_row_pow : &pt_row_square, x, MP_OBJ_NEW_SMALL_INT(2), MP_OBJ_NULL);
}

/* A row of a float tensor and numbers, which do not make integers floats. */
mp_obj_t pt_do_floats(pt_call_t *c)
{
    const int dtype = c->args[0].v.tensor->dtype;
    if (!pt_is_float(dtype)) {
        pt_no_type(c, dtype);
    }
    return pt_pointwise(c);
}

/* ---- bounds -------------------------------------------------------------------------------------------------------- */

/* Two bounds at once, for numbers; the type that they promote the tensor to is its type from then on. */
static mp_obj_t between(pt_call_t *c, mp_obj_t x, mp_obj_t least, mp_obj_t most)
{
    const mp_obj_t all[] = {x, least, most};
    const int dtype = pt_result_type(3, all);
    pt_check_fits(least, dtype);
    pt_check_fits(most, dtype);
    if (pt_tensor(x)->dtype != dtype) {
        x = MP_OBJ_FROM_PTR(pt_contiguous(pt_tensor(x), dtype));
    }
    if (!pt_is_float(dtype)) { /* a number below the range of an unsigned type wraps around */
        least = pt_item(pt_from_number(least, dtype), 0);
        most = pt_item(pt_from_number(most, dtype), 0);
    }
    return map(c, &pt_row_clamp, x, least, most);
}

static mp_obj_t bound(pt_call_t *c, const pt_pointwise_t *row, mp_obj_t limit)
{
    const mp_obj_t both[] = {c->args[0].object, limit};
    if (!pt_is_tensor(limit)) {
        pt_check_fits(limit, pt_result_type(2, both));
    }
    return map(c, row, c->args[0].object, limit, MP_OBJ_NULL);
}

mp_obj_t pt_do_clamp(pt_call_t *c)
{
    const pt_arg_t *least = &c->args[1], *most = &c->args[2];
    if (!least->given && !most->given) {
        refuse(MP_ERROR_TEXT("torch.clamp: At least one of 'min' or 'max' must not be None"));
    }
    if (!least->given || !most->given) {
        return bound(c, least->given ? &pt_row_maximum : &pt_row_minimum, least->given ? least->object : most->object);
    }
    if (!pt_is_tensor(least->object) && !pt_is_tensor(most->object)) {
        return between(c, c->args[0].object, least->object, most->object);
    }
    return map(
        c, &pt_row_minimum, step(c, &pt_row_maximum, c->args[0].object, least->object), most->object, MP_OBJ_NULL);
}

/* clamp_min and clamp_max: the row is maximum or minimum. */
mp_obj_t pt_do_clamp_one(pt_call_t *c) { return bound(c, c->overload->data.row, c->args[1].object); }

mp_obj_t pt_do_relu(pt_call_t *c)
{
    if (is_bool(c->args[0].object)) {
        refuse(MP_ERROR_TEXT("Boolean inputs not supported for relu"));
    }
    return pt_pointwise(c);
}

mp_obj_t pt_do_relu6(pt_call_t *c)
{
    return map(c, &pt_row_clamp, c->args[0].object, MP_OBJ_NEW_SMALL_INT(0), MP_OBJ_NEW_SMALL_INT(6));
}

mp_obj_t pt_do_hardtanh(pt_call_t *c)
{
    if (is_bool(c->args[0].object)) {
        refuse(MP_ERROR_TEXT("Bool inputs not supported for hardtanh"));
    }
    if (mp_obj_get_float(c->args[1].object) > mp_obj_get_float(c->args[2].object)) {
        mp_raise_ValueError(MP_ERROR_TEXT("min_val cannot be greater than max_val"));
    }
    return map(c, &pt_row_clamp, c->args[0].object, c->args[1].object, c->args[2].object);
}
