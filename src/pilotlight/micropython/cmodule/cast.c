/* Tensors converted to other types, and queries with arguments. */
#include "construct.h"

static mp_obj_t converted(pt_tensor_t *t, int dtype, bool copy)
{
    return MP_OBJ_FROM_PTR(t->dtype == dtype && !copy ? t : pt_from_data(MP_OBJ_FROM_PTR(t), dtype));
}

/* to(dtype, non_blocking, copy) and to(device, dtype, non_blocking, copy): overload->data is the place of dtype. */
mp_obj_t pt_do_to(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const pt_arg_t *dtype = c->args + c->overload->data.number;
    if (c->overload->data.number == 2 && c->args[1].given && !pt_is_device(c->args[1].object)) {
        mp_raise_msg_varg(&mp_type_TypeError,
            MP_ERROR_TEXT("to() received an invalid combination of arguments - got (%s)"),
            mp_obj_get_type_str(c->args[1].object));
    }
    return converted(t, dtype->given ? dtype->v.dtype : t->dtype, dtype[2].v.i != 0);
}

mp_obj_t pt_do_to_other(pt_call_t *c) /* to(other) and type_as(other) */
{
    return converted(c->args[0].v.tensor, c->args[1].v.tensor->dtype, false);
}

mp_obj_t pt_do_cast(pt_call_t *c) { return converted(c->args[0].v.tensor, (int)c->overload->data.number, false); }

mp_obj_t pt_do_cpu(pt_call_t *c) { return c->args[0].object; }

/* Tensors have their own type names in PyTorch: torch.FloatTensor. */
mp_obj_t pt_do_type(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const mp_obj_t wanted = c->args[1].object;
    if (mp_obj_is_type(wanted, &pt_dtype_type)) {
        return converted(t, (int)((const pt_dtype_obj_t *)MP_OBJ_TO_PTR(wanted) - pt_dtypes), false);
    }
    vstr_t text;
    mp_print_t print;
    mp_obj_t name[2] = {wanted};
    size_t skipped = 0;
    if (c->args[1].given && !mp_obj_is_str(wanted)) { /* torch.FloatTensor is a function of that name */
        skipped = strlen("torch.");
        mp_load_method_maybe(wanted, MP_QSTR___name__, name);
    }
    const char *asked = name[0] != MP_OBJ_NULL && mp_obj_is_str(name[0]) ? mp_obj_str_get_str(name[0]) : NULL;
    for (int k = 0; k < PT_DTYPES; k++) {
        vstr_init_print(&text, 24, &print);
        mp_printf(&print, "torch.%sTensor", pt_dtypes[k].type);
        if (!c->args[1].given && t->dtype == k) {
            return mp_obj_new_str_from_vstr(&text);
        }
        if (asked && strcmp(asked, vstr_null_terminated_str(&text) + skipped) == 0) {
            return converted(t, k, false);
        }
    }
    if (mp_obj_is_str(wanted)) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("invalid type: '%s'"), mp_obj_str_get_str(wanted));
    }
    mp_raise_TypeError(MP_ERROR_TEXT("dtype must be a type, str, or dtype object"));
}

/* size(dim) and stride(dim): overload->data is 1 for strides. */
mp_obj_t pt_do_size(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const bool strides = c->overload->data.number != 0;
    const int32_t *values = strides ? pt_strides(t) : pt_sizes(t);
    if (!c->args[1].given) {
        mp_obj_t all = pt_size_tuple(t->ndim, values);
        ((mp_obj_tuple_t *)MP_OBJ_TO_PTR(all))->base.type = strides ? &mp_type_tuple : &pt_size_type;
        return all;
    }
    if (t->ndim == 0) {
        mp_raise_msg_varg(&mp_type_IndexError, MP_ERROR_TEXT("Dimension specified as %d but tensor has no dimensions"),
            (int)c->args[1].v.i);
    }
    return mp_obj_new_int(values[pt_dim(c, c->args[1].v.i, t->ndim)]);
}

mp_obj_t pt_do_numel(pt_call_t *c) { return mp_obj_new_int(pt_numel(c->args[0].v.tensor)); }

mp_obj_t pt_do_is_contiguous(pt_call_t *c) { return mp_obj_new_bool(pt_is_contiguous(c->args[0].v.tensor)); }

mp_obj_t pt_do_is_floating_point(pt_call_t *c) { return mp_obj_new_bool(pt_is_float(c->args[0].v.tensor->dtype)); }

mp_obj_t pt_do_is_complex(pt_call_t *c)
{
    (void)c;
    return mp_const_false;
}

mp_obj_t pt_do_is_signed(pt_call_t *c)
{
    const int dtype = c->args[0].v.tensor->dtype;
    return mp_obj_new_bool(dtype != PT_BOOL && dtype != PT_UINT8);
}

mp_obj_t pt_do_requires_grad(pt_call_t *c)
{
    pt_set_requires_grad(c->args[0].v.tensor, c->args[1].v.i != 0);
    return c->args[0].object;
}
