/* Activations with parameters; where, fill, copy. */
#include "tensor.h"

#include "generated/rows.h"
#include "shape.h"

static mp_obj_t number(mp_float_t v) { return mp_obj_new_float(v); }

mp_obj_t pt_do_gelu(pt_call_t *c)
{
    const pt_pointwise_t *row = &pt_row_gelu;
    if (c->args[1].given) {
        const char *how = mp_obj_str_get_str(c->args[1].object);
        if (strcmp(how, "tanh") == 0) {
            row = &pt_row_gelu_tanh;
        } else if (strcmp(how, "none") != 0) {
            pt_refuse(c, 1);
        }
    }
    return MP_OBJ_FROM_PTR(pt_map(c, row, &c->args[0].object));
}

/* One weight, or one for each channel (dimension 1). */
mp_obj_t pt_do_prelu(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor, *w = c->args[1].v.tensor;
    int32_t sizes[PT_MAX_DIMS];
    const int32_t count = pt_numel(w), channels = x->ndim > 1 ? x->dims[1] : 1;
    if (w->ndim > 1 || (count != 1 && (count != channels || x->ndim == 0))) {
        pt_refuse(c, 1);
    }
    if (w->ndim == 1 && x->ndim > 0) {
        for (int d = 0; d < x->ndim; d++) {
            sizes[d] = d == (x->ndim > 1) ? count : 1;
        }
        w = pt_reshape(w, x->ndim, sizes);
    } else if (w->ndim == 1) {
        w = pt_reshape(w, 0, sizes);
    }
    const mp_obj_t operands[] = {c->args[0].object, MP_OBJ_FROM_PTR(w)};
    return MP_OBJ_FROM_PTR(pt_map(c, &pt_row_leaky_relu, operands));
}

mp_obj_t pt_do_round_decimals(pt_call_t *c)
{
    int64_t decimals = c->args[1].v.i;
    const pt_pointwise_t *row = decimals < 0 ? &pt_row_round_off : &pt_row_round_to;
    mp_float_t ten = 1;
    for (decimals = decimals < -40 ? 40
            : decimals < 0         ? -decimals
                                   : decimals;
        decimals > 0 && ten < (mp_float_t)1e37; decimals--) {
        ten *= 10;
    }
    const mp_obj_t operands[] = {c->args[0].object, number(ten)};
    return MP_OBJ_FROM_PTR(pt_map(c, ten == 1 ? &pt_row_round : row, operands));
}

/* ---- where ------------------------------------------------------------------------------------------------------- */

mp_obj_t pt_do_where(pt_call_t *c)
{
    const int dtype = c->args[0].v.tensor->dtype;
    if (dtype != PT_BOOL && dtype != PT_UINT8) {
        pt_refuse(c, 0);
    }
    const mp_obj_t operands[] = {
        MP_OBJ_FROM_PTR(pt_contiguous(c->args[0].v.tensor, PT_BOOL)), c->args[1].object, c->args[2].object};
    return MP_OBJ_FROM_PTR(pt_map(c, &pt_row_where, operands));
}

/* masked_fill(self, mask, value): the value takes self's type. */
mp_obj_t pt_do_masked_fill(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor, *mask = c->args[1].v.tensor, *value;
    if (mask->dtype != PT_BOOL) {
        pt_refuse(c, 1);
    }
    if (pt_is_tensor(c->args[2].object)) {
        value = pt_tensor(c->args[2].object);
        if (value->ndim) {
            pt_refuse(c, 2);
        }
        value = pt_from_number(pt_item(value, 0), x->dtype);
        c->args[2].object = MP_OBJ_FROM_PTR(value); /* which may have been one of self's elements */
    } else {
        pt_check_fits(c->args[2].object, x->dtype);
        value = pt_from_number(c->args[2].object, x->dtype);
    }
    const mp_obj_t operands[] = {c->args[1].object, MP_OBJ_FROM_PTR(value), c->args[0].object};
    return MP_OBJ_FROM_PTR(pt_map(c, &pt_row_where, operands));
}

/* ---- not, fill, copy ----------------------------------------------------------------------------------------------- */

mp_obj_t pt_do_bitwise_not(pt_call_t *c)
{
    const mp_obj_t operands[] = {c->args[0].object, MP_OBJ_NEW_SMALL_INT(-1)};
    return MP_OBJ_FROM_PTR(
        pt_map(c, c->args[0].v.tensor->dtype == PT_BOOL ? &pt_row_logical_not : &pt_row_bitwise_xor, operands));
}

/* fill(value), and zero_() where there is none. */
mp_obj_t pt_do_fill(pt_call_t *c)
{
    if (!c->in_place) {
        c->out = pt_new_like(c->args[0].v.tensor, c->args[0].v.tensor->dtype);
    }
    const mp_obj_t value = c->overload->count > 1 ? c->args[1].object : MP_OBJ_NEW_SMALL_INT(0);
    pt_check_writable(c->out);
    if (pt_is_tensor(value)) {
        if (pt_tensor(value)->ndim) {
            pt_refuse(c, 1);
        }
        pt_copy_into(c->out, pt_tensor(value));
    } else {
        pt_check_fits(value, c->out->dtype);
        pt_fill(c->out, value);
    }
    return MP_OBJ_FROM_PTR(c->out);
}

mp_obj_t pt_do_copy(pt_call_t *c)
{
    const mp_obj_t o = c->args[1].object;
    pt_tensor_t *from = pt_is_tensor(o) ? pt_tensor(o) : pt_from_number(o, c->out->dtype);
    int32_t sizes[PT_MAX_DIMS];
    pt_tensor_t *const both[] = {c->out, from};
    c->laps = from == c->out ? PT_ANYWHERE : PT_APART;
    pt_copy_into(pt_result(c, c->out->dtype, pt_broadcast(2, both, sizes), sizes), from);
    return c->args[0].object;
}
