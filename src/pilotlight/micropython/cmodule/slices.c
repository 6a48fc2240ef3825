/* Parts of tensors: slices and splits. */
#include "indices.h"
#include "packed.h"

/* A build of all operators has PyTorch's words in Python, the part `errors` more of them. */
static void refuse_in_words(pt_call_t *c)
{
    mp_obj_t args[PT_ARGS + 1] = {MP_OBJ_NEW_QSTR(c->op->name)};
    for (int at = 0; at < c->overload->count; at++) {
        const pt_arg_t *arg = &c->args[at];
        const int type = pt_kinds[pt_params[c->overload->params + at].kind].type;
        args[at + 1] = !arg->given ? mp_const_none
            : type == PT_ARG_INTS  ? pt_size_tuple(arg->count, arg->v.ints)
            : type == PT_ARG_INT   ? mp_obj_new_int((mp_int_t)arg->v.i)
                                   : arg->object;
    }
    pt_call_packed(MP_QSTR__for_refuse, (size_t)c->overload->count + 1, 0, args);
    pt_call_packed(MP_QSTR__for_refuse_more, (size_t)c->overload->count + 1, 0, args);
}

void pt_refuse(pt_call_t *c, int k)
{
    const qstr name = pt_param_name(c->overload, k);
    if (PT_STREAM) {
        refuse_in_words(c);
    }
    if (pt_is_tensor(c->args[k].object)) {
        const pt_tensor_t *t = pt_tensor(c->args[k].object);
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("%q(): argument '%q' of size %s and type %s does not fit"), c->op->name, name,
            pt_shape_text(t->ndim, t->dims), pt_dtype_name(t->dtype));
    }
    mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("%q(): invalid argument '%q'"), c->op->name, name);
}

void pt_check_apart(pt_call_t *c, const pt_tensor_t *written, pt_tensor_t *read)
{
    if (c->out) {
        pt_check_overlap(written, read, true);
    }
}

uint32_t pt_dims(pt_call_t *c, const pt_arg_t *dims, int ndim)
{
    uint32_t bits = 0;
    for (int k = 0; dims->given && k < dims->count; k++) {
        const uint32_t bit = 1u << pt_dim(c, dims->v.ints[k], ndim);
        if (bits & bit) {
            mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("dim %d appears multiple times in the list of dims"),
                pt_dim(c, dims->v.ints[k], ndim));
        }
        bits |= bit;
    }
    return bits;
}

/* ---- one part ------------------------------------------------------------------------------------------------- */

pt_tensor_t *pt_slice(pt_tensor_t *t, int dim, int32_t start, int32_t length, int32_t step)
{
    pt_tensor_t *v = pt_view(t, t->ndim, t->dims, pt_strides(t), length ? start * pt_strides(t)[dim] : 0);
    v->dims[dim] = length;
    pt_strides(v)[dim] *= step;
    return v;
}

pt_tensor_t *pt_select(pt_tensor_t *t, int dim, int32_t index)
{
    int32_t sizes[PT_MAX_DIMS], strides[PT_MAX_DIMS];
    for (int d = 0, to = 0; d < t->ndim; d++) {
        if (d != dim) {
            sizes[to] = t->dims[d];
            strides[to++] = pt_strides(t)[d];
        }
    }
    return pt_view(t, t->ndim - 1, sizes, strides, pt_numel(t) ? index * pt_strides(t)[dim] : 0);
}

/* A dimension of a tensor that has some. */
static int some_dim(pt_call_t *c, int64_t dim, const mp_obj_type_t *error)
{
    const int ndim = c->args[0].v.tensor->ndim;
    if (ndim == 0) {
        mp_raise_msg_varg(error, MP_ERROR_TEXT("%q() cannot be applied to a 0-dim tensor."), c->op->name);
    }
    return pt_dim(c, dim, ndim);
}

/* narrow: (self, dim, start, length); with overload->data 1 the start is a tensor. */
mp_obj_t pt_do_narrow(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const int dim = some_dim(c, c->args[1].v.i, &mp_type_RuntimeError);
    if (c->overload->data.number) {
        const pt_tensor_t *number = c->args[2].v.tensor;
        if (number->ndim || pt_is_float(number->dtype) || number->dtype == PT_BOOL) {
            pt_refuse(c, 2);
        }
        c->args[2].v.i = pt_int64(pt_item(number, 0));
    }
    const int64_t size = t->dims[dim], start = c->args[2].v.i, length = c->args[3].v.i;
    if (start < -size || start > size) {
        mp_raise_msg(&mp_type_IndexError, MP_ERROR_TEXT("start out of range"));
    }
    const int64_t from = start < 0 ? start + size : start;
    if (length < 0 || length > size - from) {
        pt_refuse(c, 3);
    }
    return MP_OBJ_FROM_PTR(pt_slice(t, dim, (int32_t)from, (int32_t)length, 1));
}

mp_obj_t pt_do_select(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const int dim = some_dim(c, c->args[1].v.i, &mp_type_IndexError);
    const int64_t index = c->args[2].v.i, size = t->dims[dim];
    if (index < -size || index >= size) {
        pt_out_of_bounds(index, dim, (int32_t)size);
    }
    return MP_OBJ_FROM_PTR(pt_select(t, dim, (int32_t)(index < 0 ? index + size : index)));
}

/* ---- several parts ----------------------------------------------------------------------------------------------- */

enum { CHUNK, SPLIT, SIZES };

/* chunk by the number of parts, split by their size, split_with_sizes: overload->data says which. */
mp_obj_t pt_do_split(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const int kind = (int)c->overload->data.number;
    const pt_arg_t *by = &c->args[1];
    const int dim = some_dim(c, c->args[2].v.i, &mp_type_RuntimeError);
    int32_t left = t->dims[dim], count = by->count;
    if (kind != SIZES && (by->v.i < (kind == CHUNK) || (by->v.i == 0 && left))) {
        pt_refuse(c, 1);
    }
    const int32_t number = kind == SIZES ? 0 : by->v.i > INT32_MAX ? INT32_MAX : (int32_t)by->v.i;
    const int32_t each = kind == CHUNK && left ? (left - 1) / number + 1 : number;
    if (kind != SIZES) {
        count = left ? (left - 1) / each + 1 : kind == CHUNK ? number : 1;
    }
    mp_obj_tuple_t *all = MP_OBJ_TO_PTR(mp_obj_new_tuple((size_t)count, NULL));
    for (int32_t k = 0; k < count; k++) {
        const int32_t size = kind == SIZES ? by->v.ints[k] : each < left ? each : left;
        if (size < 0 || size > left) {
            pt_refuse(c, 1);
        }
        all->items[k] = MP_OBJ_FROM_PTR(pt_slice(t, dim, t->dims[dim] - left, size, 1));
        left -= size;
    }
    if (left) {
        pt_refuse(c, 1);
    }
    return MP_OBJ_FROM_PTR(all);
}

mp_obj_t pt_do_unbind(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const int dim = some_dim(c, c->args[1].v.i, &mp_type_IndexError);
    mp_obj_tuple_t *all = MP_OBJ_TO_PTR(mp_obj_new_tuple((size_t)t->dims[dim], NULL));
    for (int32_t k = 0; k < t->dims[dim]; k++) {
        all->items[k] = MP_OBJ_FROM_PTR(pt_select(t, dim, k));
    }
    return MP_OBJ_FROM_PTR(all);
}
