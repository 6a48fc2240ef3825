/* Memory, views and numbers. */
#include "tensor.h"

#include "host.h"

const pt_dtype_obj_t pt_dtypes[PT_DTYPES] = {
    [PT_BOOL] = {{&pt_dtype_type}, MP_QSTR_bool, 1, '?', "Bool"},
    [PT_UINT8] = {{&pt_dtype_type}, MP_QSTR_uint8, 1, 'B', "Byte"},
    [PT_INT8] = {{&pt_dtype_type}, MP_QSTR_int8, 1, 'b', "Char"},
    [PT_INT16] = {{&pt_dtype_type}, MP_QSTR_int16, 2, 'h', "Short"},
    [PT_INT32] = {{&pt_dtype_type}, MP_QSTR_int32, 4, 'i', "Int"},
    [PT_INT64] = {{&pt_dtype_type}, MP_QSTR_int64, 8, 'q', "Long"},
    [PT_FLOAT16] = {{&pt_dtype_type}, MP_QSTR_float16, 2, 'H', "Half"},
    [PT_BFLOAT16] = {{&pt_dtype_type}, MP_QSTR_bfloat16, 2, 'H', "BFloat16"},
    [PT_FLOAT32] = {{&pt_dtype_type}, MP_QSTR_float32, 4, 'f', "Float"},
};

/* PyTorch's table: integers of different signs promote to a wider signed one, the two halves in float32. */
int pt_promote(int a, int b)
{
    if (a == b) {
        return a;
    }
    if (a > b) {
        const int swap = a;
        a = b;
        b = swap;
    }
    if (a == PT_UINT8 && b == PT_INT8) {
        return PT_INT16;
    }
    return a == PT_FLOAT16 && b == PT_BFLOAT16 ? PT_FLOAT32 : b;
}

#ifndef pt_is_tensor
bool pt_is_tensor(mp_obj_t o) { return pt_is_tensor_here(o); }
#endif

int32_t pt_numel(const pt_tensor_t *t)
{
    uint32_t n = 1; /* without elements, a part of the product may be too large */
    for (int d = 0; d < t->ndim; d++) {
        n *= (uint32_t)t->dims[d];
    }
    return (int32_t)n;
}

bool pt_is_contiguous(const pt_tensor_t *t)
{
    uint32_t expected = 1;
    for (int d = t->ndim - 1; d >= 0; d--) {
        if (t->dims[d] != 1 && (uint32_t)t->dims[t->ndim + d] != expected && pt_numel(t) != 0) {
            return false;
        }
        expected *= (uint32_t)t->dims[d];
    }
    return true;
}

static void contiguous_strides(int ndim, const int32_t *sizes, int32_t *strides)
{
    uint32_t step = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        strides[d] = (int32_t)step;
        step *= sizes[d] > 1 ? (uint32_t)sizes[d] : 1;
    }
}

void pt_no_dtype(int dtype)
{
    mp_raise_msg_varg(&mp_type_NotImplementedError, MP_ERROR_TEXT("torch.%q is not in this build: add it to --dtypes"),
        pt_dtypes[dtype].name);
}

static pt_tensor_t *header(int dtype, int ndim, const int32_t *sizes)
{
    pt_check_built(dtype);
    if (ndim > PT_MAX_DIMS) {
        mp_raise_msg_varg(
            &mp_type_RuntimeError, MP_ERROR_TEXT("tensors have at most %d dimensions, got %d"), PT_MAX_DIMS, ndim);
    }
    pt_tensor_t *t = m_new_obj_var(pt_tensor_t, own, int32_t, 2 * ndim);
    t->base.type = &pt_tensor_type;
    t->dtype = (uint8_t)dtype;
    t->ndim = (uint8_t)ndim;
    t->requires_grad = t->read_only = false;
    t->dims = t->own;
    for (int d = 0; d < ndim; d++) {
        t->own[d] = sizes[d];
    }
    return t;
}

pt_tensor_t *pt_new(int dtype, int ndim, const int32_t *sizes)
{
    int64_t bytes = pt_size(dtype);
    for (int d = 0; d < ndim; d++) {
        if (sizes[d] < 0) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("Trying to create tensor with negative dimension %d"), (int)sizes[d]);
        }
        bytes *= sizes[d];
        if (bytes > INT32_MAX) {
            m_malloc_fail((size_t)INT32_MAX);
        }
    }
    pt_tensor_t *t = header(dtype, ndim, sizes);
    contiguous_strides(ndim, sizes, t->own + ndim);
    t->bytes = (uint32_t)bytes;
    t->owner = t->start = t->data = m_malloc(bytes ? (size_t)bytes : 1);
    return t;
}

pt_tensor_t *pt_borrow(mp_obj_t owner, uint8_t *data, uint32_t bytes, int dtype, int ndim, const int32_t *sizes)
{
    pt_tensor_t *t = header(dtype, ndim, sizes);
    contiguous_strides(ndim, sizes, pt_strides(t));
    t->owner = MP_OBJ_TO_PTR(owner);
    t->start = t->data = data;
    t->bytes = bytes;
    return t;
}

pt_tensor_t *pt_new_like(const pt_tensor_t *t, int dtype) { return pt_new(dtype, t->ndim, t->dims); }

/* Elements are counted with 32 bits, including those of an expanded tensor. */
static void check_count(int ndim, const int32_t *sizes)
{
    int64_t n = 1;
    for (int d = 0; d < ndim; d++) {
        n = n > INT32_MAX && sizes[d] ? n : n * sizes[d];
    }
    if (n > INT32_MAX) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("tensors have at most 2147483647 elements"));
    }
}

pt_tensor_t *pt_view(const pt_tensor_t *t, int ndim, const int32_t *sizes, const int32_t *strides, int32_t offset)
{
    check_count(ndim, sizes);
    pt_tensor_t *v = header(t->dtype, ndim, sizes);
    v->owner = t->owner;
    v->start = t->start;
    v->bytes = t->bytes;
    v->read_only = t->read_only;
    v->data = t->data + (ptrdiff_t)offset * pt_size(t->dtype);
    if (strides) {
        memcpy(pt_strides(v), strides, (size_t)ndim * sizeof(int32_t));
    } else {
        contiguous_strides(ndim, sizes, pt_strides(v));
    }
    return v;
}

void pt_become(pt_tensor_t *t, const pt_tensor_t *as)
{
    if (as->ndim > t->ndim) {
        t->dims = m_new(int32_t, 2 * as->ndim);
    }
    t->ndim = as->ndim;
    t->owner = as->owner;
    t->start = as->start;
    t->bytes = as->bytes;
    t->dtype = as->dtype;
    t->read_only = as->read_only;
    t->data = as->data;
    memcpy(t->dims, as->dims, 2 * (size_t)as->ndim * sizeof(int32_t));
}

void pt_check_writable(const pt_tensor_t *t)
{
    if (t->read_only) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("The memory of this tensor is read-only: clone() it first"));
    }
}

pt_tensor_t *pt_contiguous(pt_tensor_t *t, int dtype)
{
    if (t->dtype == dtype && pt_is_contiguous(t)) {
        return t;
    }
    pt_tensor_t *copy = pt_new_like(t, dtype);
    pt_copy_into(copy, t);
    return copy;
}

/* ---- numbers ------------------------------------------------------------------------------------------------ */

int pt_number_dtype(mp_obj_t number)
{
    if (mp_obj_is_bool(number)) {
        return PT_BOOL;
    }
    return mp_obj_is_int(number) ? PT_INT64 : mp_obj_is_float(number) ? PT_FLOAT32 : -1;
}

int64_t pt_int64(mp_obj_t number)
{
    if (mp_obj_is_small_int(number)) {
        return MP_OBJ_SMALL_INT_VALUE(number);
    }
    #if MICROPY_LONGINT_IMPL != MICROPY_LONGINT_IMPL_NONE
    if (mp_obj_is_exact_type(number, &mp_type_int)) {
        byte bytes[8];
        if (!mp_obj_int_to_bytes_impl(number, false, sizeof(bytes), bytes)) {
            mp_raise_msg(&mp_type_OverflowError, MP_ERROR_TEXT("int too big to convert"));
        }
        uint64_t v = 0;
        for (int k = 7; k >= 0; k--) {
            v = v << 8 | bytes[k];
        }
        return (int64_t)v;
    }
    #endif
    return mp_obj_get_int(number);
}

static void store_number(uint8_t *to, mp_obj_t number, int dtype)
{
    if (mp_obj_is_float(number)) {
        const float f = (float)mp_obj_get_float(number);
        pt_store(to, dtype, 1, PT_FLOAT32, &f, 1);
    } else {
        const int64_t i = pt_int64(number);
        pt_store(to, dtype, 1, PT_INT64, &i, 1);
    }
}

pt_tensor_t *pt_from_number(mp_obj_t number, int dtype)
{
    pt_tensor_t *t = pt_new(dtype, 0, NULL);
    store_number(t->data, number, dtype);
    return t;
}

pt_tensor_t *pt_scalar(pt_tensor_t *t, int64_t *value, mp_obj_t number, int dtype)
{
    t->base.type = &pt_tensor_type;
    t->owner = NULL;
    t->start = t->data = (uint8_t *)value;
    t->bytes = (uint32_t)pt_size(dtype);
    t->dtype = (uint8_t)dtype;
    t->ndim = 0;
    t->dims = NULL;
    t->requires_grad = t->read_only = false;
    store_number(t->data, number, dtype);
    return t;
}

mp_obj_t pt_item(const pt_tensor_t *t, int32_t offset)
{
    pt_chunk_t chunk;
    pt_load(t->data + (ptrdiff_t)offset * pt_size(t->dtype), t->dtype, 1, pt_compute(t->dtype), &chunk, 1);
    if (t->dtype == PT_BOOL) {
        return mp_obj_new_bool(chunk.i[0] != 0);
    }
    if (pt_is_float(t->dtype)) {
        return mp_obj_new_float((mp_float_t)chunk.f[0]);
    }
    const mp_int_t small = (mp_int_t)chunk.i[0]; /* mp_obj_new_int_from_ll makes an object of every number */
    return small == chunk.i[0] ? mp_obj_new_int(small) : mp_obj_new_int_from_ll(chunk.i[0]);
}
