/* The type Tensor: attributes, small methods, iteration and the buffer protocol. */
#include "tensortype.h"

#include "construct.h"
#include "core.h"
#include "packed.h"
#include "record.h"
#include "repr.h"
#include "shape.h"

/* ---- attributes ------------------------------------------------------------------------------------------------ */

static const pt_op_t *const turn_op = PT_OP_transpose; /* NULL: a build without .T and the like */

/* What PyTorch raises; dir(t), which asks for every attribute, ignores it. */
static const mp_rom_obj_tuple_t both_errors = {
    {&mp_type_tuple}, 2, {MP_ROM_PTR(&mp_type_RuntimeError), MP_ROM_PTR(&mp_type_AttributeError)}};
static MP_DEFINE_CONST_OBJ_TYPE(refusal_type, MP_QSTR_RuntimeError, MP_TYPE_FLAG_NONE, make_new,
    mp_obj_exception_make_new, print, mp_obj_exception_print, attr, mp_obj_exception_attr, parent, &both_errors);

/* .T and .H reverse all dimensions, .mT and .mH the last two. */
static mp_obj_t turned(pt_tensor_t *t, qstr name)
{
    int32_t order[PT_MAX_DIMS];
    PT_RECORD_CALL(MP_QSTR_transpose);
    if (name == MP_QSTR_mT || name == MP_QSTR_mH) {
        if (t->ndim < 2) {
            mp_raise_msg_varg(&refusal_type,
                MP_ERROR_TEXT("tensor.%q is only supported on matrices or batches of matrices. Got %d-D tensor."), name,
                (int)t->ndim);
        }
        return MP_OBJ_FROM_PTR(pt_transpose(t, t->ndim - 2, t->ndim - 1));
    }
    if (name == MP_QSTR_H && t->ndim != 2 && t->ndim != 0) {
        mp_raise_msg_varg(&refusal_type,
            MP_ERROR_TEXT("tensor.H is only supported on matrices (2-D tensors). Got %d-D tensor."), (int)t->ndim);
    }
    for (int d = 0; d < t->ndim; d++) {
        order[d] = t->ndim - 1 - d;
    }
    return MP_OBJ_FROM_PTR(pt_permute(t, order));
}

static void store_attr(pt_tensor_t *t, qstr name, mp_obj_t *dest)
{
    const mp_obj_t value = dest[1];
    if (value == MP_OBJ_NULL) {
        return;
    }
    if (name == MP_QSTR_requires_grad) {
        pt_set_requires_grad(t, mp_obj_is_true(value));
    } else if (name == MP_QSTR_data && pt_is_tensor(value)) {
        pt_become(t, pt_tensor(value));
    } else if (name != MP_QSTR_grad || value != mp_const_none) {
        return;
    }
    dest[0] = MP_OBJ_NULL;
}

void pt_attr(mp_obj_t self, qstr name, mp_obj_t *dest)
{
    pt_tensor_t *t = pt_tensor(self);
    if (dest[0] != MP_OBJ_NULL) {
        store_attr(t, name, dest);
        return;
    }
    switch (name) {
        case MP_QSTR_shape:
            dest[0] = pt_size_tuple(t->ndim, pt_sizes(t));
            break;
        case MP_QSTR_dtype:
            dest[0] = MP_OBJ_FROM_PTR(&pt_dtypes[t->dtype]);
            break;
        case MP_QSTR_device:
            dest[0] = MP_OBJ_FROM_PTR(&pt_cpu);
            break;
        case MP_QSTR_layout:
            dest[0] = MP_OBJ_FROM_PTR(&pt_strided);
            break;
        case MP_QSTR_ndim:
            dest[0] = MP_OBJ_NEW_SMALL_INT(t->ndim);
            break;
        case MP_QSTR_itemsize:
            dest[0] = MP_OBJ_NEW_SMALL_INT(pt_size(t->dtype));
            break;
        case MP_QSTR_nbytes:
            dest[0] = mp_obj_new_int((mp_int_t)pt_numel(t) * pt_size(t->dtype));
            break;
        case MP_QSTR_requires_grad:
            dest[0] = mp_obj_new_bool(t->requires_grad);
            break;
        case MP_QSTR_is_leaf:
            dest[0] = mp_const_true;
            break;
        case MP_QSTR_is_cuda:
        case MP_QSTR_is_sparse:
        case MP_QSTR_is_quantized:
            dest[0] = mp_const_false;
            break;
        case MP_QSTR_grad:
        case MP_QSTR_grad_fn:
        case MP_QSTR_name:
            dest[0] = mp_const_none;
            break;
        case MP_QSTR_data:
            dest[0] = MP_OBJ_FROM_PTR(pt_view(t, t->ndim, pt_sizes(t), pt_strides(t), 0));
            break;
        case MP_QSTR_T:
        case MP_QSTR_H:
        case MP_QSTR_mT:
        case MP_QSTR_mH:
            if (turn_op) {
                dest[0] = turned(t, name);
            }
            break;
        default:
            dest[0] = pt_operator(name, PT_IN_TENSOR);
            dest[1] = self;
            if (dest[0] == MP_OBJ_NULL) {
                dest[1] = MP_OBJ_NULL;
                pt_find_packed(name, PT_IN_TENSOR, self, dest);
            }
    }
}

/* ---- methods --------------------------------------------------------------------------------------------------- */

mp_obj_t pt_do_item(pt_call_t *c)
{
    const pt_tensor_t *t = c->args[0].v.tensor;
    if (pt_numel(t) != 1) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("a Tensor with %d elements cannot be converted to Scalar"), (int)pt_numel(t));
    }
    return pt_item(t, 0);
}

static mp_obj_t list_of(const pt_tensor_t *t, int dim, int32_t offset)
{
    if (dim == t->ndim) {
        return pt_item(t, offset);
    }
    const int32_t size = t->dims[dim], step = t->dims[t->ndim + dim];
    mp_obj_list_t *list = MP_OBJ_TO_PTR(mp_obj_new_list((size_t)size, NULL));
    for (int32_t k = 0; k < size; k++) {
        list->items[k] = mp_const_none; /* the garbage collector may look while the list is filled */
    }
    for (int32_t k = 0; k < size; k++) {
        list->items[k] = list_of(t, dim + 1, offset + k * step);
    }
    return MP_OBJ_FROM_PTR(list);
}

mp_obj_t pt_do_tolist(pt_call_t *c) { return list_of(c->args[0].v.tensor, 0, 0); }

mp_obj_t pt_do_ndim(pt_call_t *c) { return MP_OBJ_NEW_SMALL_INT(c->args[0].v.tensor->ndim); }

mp_obj_t pt_do_element_size(pt_call_t *c) { return MP_OBJ_NEW_SMALL_INT(pt_size(c->args[0].v.tensor->dtype)); }

mp_obj_t pt_do_storage_offset(pt_call_t *c) { return mp_obj_new_int(pt_offset(c->args[0].v.tensor)); }

mp_obj_t pt_do_data_ptr(pt_call_t *c) { return mp_obj_new_int_from_uint((uintptr_t)c->args[0].v.tensor->data); }

/* ---- iteration ------------------------------------------------------------------------------------------------- */

typedef struct {
    mp_obj_base_t base;
    mp_fun_1_t next;
    mp_obj_t tensor;
    int32_t at;
} iterator_t;

static mp_obj_t iterator_next(mp_obj_t self)
{
    iterator_t *it = MP_OBJ_TO_PTR(self);
    pt_tensor_t *t = pt_tensor(it->tensor);
    return t->ndim && it->at < t->dims[0] ? MP_OBJ_FROM_PTR(pt_select(t, 0, it->at++)) : MP_OBJ_STOP_ITERATION;
}

static mp_obj_t tensor_iter(mp_obj_t self, mp_obj_iter_buf_t *room)
{
    MP_STATIC_ASSERT(sizeof(iterator_t) <= sizeof(mp_obj_iter_buf_t));
    iterator_t *it = (iterator_t *)room;
    if (pt_tensor(self)->ndim == 0) {
        mp_raise_TypeError(MP_ERROR_TEXT("iteration over a 0-d tensor"));
    }
    *it = (iterator_t){{&mp_type_polymorph_iter}, iterator_next, self, 0};
    return MP_OBJ_FROM_PTR(it);
}

/* ---- buffers --------------------------------------------------------------------------------------------------- */

/* The elements where they lie; MicroPython has no letter for truth values and halves, which appear as their bits. */
static mp_int_t tensor_buffer(mp_obj_t self, mp_buffer_info_t *info, mp_uint_t flags)
{
    pt_tensor_t *t = pt_tensor(self);
    if (!pt_is_contiguous(t) || (t->read_only && (flags & MP_BUFFER_WRITE))) {
        return 1;
    }
    info->buf = t->data;
    info->len = (size_t)pt_numel(t) * (size_t)pt_size(t->dtype);
    info->typecode = t->dtype == PT_BOOL ? 'B' : pt_dtypes[t->dtype].code;
    return 0;
}

mp_obj_t pt_do_float(pt_call_t *c) { return pt_unary(MP_UNARY_OP_FLOAT_MAYBE, c->args[0].object); }

/* ---- what a build may leave out -------------------------------------------------------------------------------- */

static const pt_op_t *const repr_op = PT_OP___repr__, *const data_op = PT_OP_tensor;
static const pt_op_t *const get_op = PT_OP___getitem__, *const set_op = PT_OP___setitem__;

static mp_obj_t tensor_make(const mp_obj_type_t *type, size_t n, size_t n_kw, const mp_obj_t *args)
{
    if (!data_op) {
        mp_raise_NotImplementedError(MP_ERROR_TEXT("torch.tensor is not in this build"));
    }
    return pt_tensor_make(type, n, n_kw, args);
}

static void tensor_print(const mp_print_t *print, mp_obj_t self, mp_print_kind_t kind)
{
    if (repr_op) {
        pt_print(print, self, kind);
    } else {
        mp_print_str(print, "<Tensor>");
    }
}

/* A parameter is not a number: `type(self) is Tensor`. */
mp_obj_t pt_formatted(mp_obj_t o, bool by_text)
{
    if (!repr_op || !pt_is_tensor(o)) {
        return o;
    }
    if (mp_obj_is_exact_type(o, &pt_tensor_type) && pt_tensor(o)->ndim == 0) {
        return pt_item(pt_tensor(o), 0);
    }
    if (by_text) {
        mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("unsupported format string passed to %s.__format__"),
            mp_obj_get_type_str(o));
    }
    return o;
}

static mp_obj_t tensor_subscr(mp_obj_t self, mp_obj_t index, mp_obj_t value)
{
    return get_op || set_op ? pt_subscr(self, index, value) : MP_OBJ_NULL;
}

/* ---- the types ------------------------------------------------------------------------------------------------- */

#define TENSOR_FLAGS                                                                                  \
    (MP_TYPE_FLAG_EQ_CHECKS_OTHER_TYPE | MP_TYPE_FLAG_EQ_HAS_NEQ_TEST | MP_TYPE_FLAG_EQ_NOT_REFLEXIVE \
        | MP_TYPE_FLAG_ITER_IS_GETITER)
MP_DEFINE_CONST_OBJ_TYPE(pt_tensor_type, MP_QSTR_Tensor, TENSOR_FLAGS, make_new, tensor_make, attr, pt_attr, print,
    tensor_print, unary_op, pt_unary, binary_op, pt_binary, subscr, tensor_subscr, iter, tensor_iter, buffer,
    tensor_buffer);
MP_DEFINE_CONST_OBJ_TYPE(pt_parameter_type, MP_QSTR_Parameter, TENSOR_FLAGS, make_new, pt_parameter_make, attr, pt_attr,
    print, tensor_print, unary_op, pt_unary, binary_op, pt_binary, subscr, tensor_subscr, iter, tensor_iter, buffer,
    tensor_buffer, parent, &pt_tensor_type);
