/* Diagonals, windows and strides that the user gives. */
#include "shape.h"

static void distinct(int a, int b)
{
    if (a == b) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("diagonal dimensions cannot be identical %d, %d"), a, b);
    }
}

pt_tensor_t *pt_diagonal(pt_tensor_t *t, int64_t offset, int a, int b)
{
    int32_t sizes[PT_MAX_DIMS], strides[PT_MAX_DIMS];
    const int64_t rows = t->dims[a] + (offset < 0 ? offset : 0), columns = t->dims[b] - (offset > 0 ? offset : 0);
    const int64_t length = rows < columns ? rows : columns;
    int ndim = 0;
    for (int d = 0; d < t->ndim; d++) {
        if (d != a && d != b) {
            sizes[ndim] = t->dims[d];
            strides[ndim++] = pt_strides(t)[d];
        }
    }
    sizes[ndim] = length > 0 ? (int32_t)length : 0;
    strides[ndim++] = pt_strides(t)[a] + pt_strides(t)[b];
    const int64_t start = length <= 0 ? 0 : offset < 0 ? -offset * pt_strides(t)[a] : offset * pt_strides(t)[b];
    return pt_view(t, ndim, sizes, strides, (int32_t)start);
}

mp_obj_t pt_do_diagonal(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const int a = pt_dim(c, c->args[2].v.i, t->ndim), b = pt_dim(c, c->args[3].v.i, t->ndim);
    distinct(a, b);
    return MP_OBJ_FROM_PTR(pt_diagonal(t, c->args[1].v.i, a, b));
}

/* A tensor of zeros with `t` on the diagonal of two new dimensions. */
static mp_obj_t embedded(pt_call_t *c, pt_tensor_t *t, int64_t offset, int64_t dim1, int64_t dim2)
{
    const int ndim = t->ndim + 1, a = pt_dim(c, dim1, ndim), b = pt_dim(c, dim2, ndim);
    int32_t sizes[PT_MAX_DIMS + 1];
    distinct(a, b);
    if (offset > INT32_MAX / 2 || offset < -INT32_MAX / 2 || t->dims[t->ndim - 1] > INT32_MAX / 2) {
        m_malloc_fail((size_t)INT32_MAX);
    }
    const int64_t size = t->dims[t->ndim - 1] + (offset < 0 ? -offset : offset);
    for (int d = 0, from = 0; d < ndim; d++) {
        sizes[d] = d == a || d == b ? (int32_t)size : t->dims[from++];
    }
    pt_tensor_t *y = pt_result(c, t->dtype, ndim, sizes);
    pt_fill(y, MP_OBJ_NEW_SMALL_INT(0));
    pt_copy_into(pt_diagonal(y, offset, a, b), t);
    return MP_OBJ_FROM_PTR(y);
}

mp_obj_t pt_do_diag_embed(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    return embedded(c, t->ndim ? t : pt_unsqueeze(t, 0), c->args[1].v.i, c->args[2].v.i, c->args[3].v.i);
}

/* diag: a matrix with this diagonal, or the diagonal of this matrix. */
mp_obj_t pt_do_diag(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    if (t->ndim == 1) {
        return embedded(c, t, c->args[1].v.i, 0, 1);
    }
    if (t->ndim != 2) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("diag(): Supports 1D or 2D tensors. Got %dD"),
            (int)t->ndim);
    }
    pt_tensor_t *v = pt_diagonal(t, c->args[1].v.i, 0, 1), *y = pt_result(c, v->dtype, 1, v->dims);
    pt_copy_into(y, v);
    return MP_OBJ_FROM_PTR(y);
}

/* as_strided: sizes and strides in the storage, which must hold all of it. */
mp_obj_t pt_do_as_strided(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const pt_arg_t *sizes = &c->args[1], *strides = &c->args[2];
    const int64_t start = c->args[3].given ? c->args[3].v.i : pt_offset(t);
    int64_t last = start;
    bool empty = false;
    if (sizes->count != strides->count) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("mismatch in length of strides and shape"));
    }
    if (start < 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("Tensor: invalid storage offset %d"), (int)start);
    }
    for (int d = 0; d < sizes->count; d++) {
        if (strides->v.ints[d] < 0 || sizes->v.ints[d] < 0) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("as_strided: Negative strides are not supported at the moment, got strides: %s"),
                pt_shape_text(strides->count, strides->v.ints));
        }
        last += (int64_t)(sizes->v.ints[d] - 1) * strides->v.ints[d];
        empty = empty || sizes->v.ints[d] == 0;
    }
    const int64_t bytes = (last + 1) * pt_size(t->dtype);
    if (!empty && bytes > t->bytes) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("setStorage: sizes %s, strides %s, storage offset %d are out of bounds for storage of "
                          "size %d"), pt_shape_text(sizes->count, sizes->v.ints),
            pt_shape_text(strides->count, strides->v.ints), (int)start, (int)t->bytes);
    }
    pt_tensor_t *v = pt_view(t, sizes->count, sizes->v.ints, strides->v.ints, 0);
    v->data = t->start + (empty ? 0 : (ptrdiff_t)start * pt_size(t->dtype));
    if (c->in_place) {
        pt_become(t, v);
        return c->args[0].object;
    }
    return MP_OBJ_FROM_PTR(v);
}

/* unfold: windows of `size` elements, `step` apart, as a last dimension. */
mp_obj_t pt_do_unfold(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const int dim = pt_dim(c, c->args[1].v.i, t->ndim);
    const int64_t size = c->args[2].v.i, step = c->args[3].v.i, all = t->ndim ? t->dims[dim] : 1;
    int32_t sizes[PT_MAX_DIMS + 1], strides[PT_MAX_DIMS + 1];
    if (size < 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("size is %d but must be >= 0"), (int)size);
    }
    if (size > all) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("maximum size for tensor at dimension %d is %d but size is %d"), dim, (int)all, (int)size);
    }
    if (step <= 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("step is %d but must be > 0"), (int)step);
    }
    memcpy(sizes, t->dims, t->ndim * sizeof(int32_t));
    memcpy(strides, pt_strides(t), t->ndim * sizeof(int32_t));
    sizes[t->ndim] = (int32_t)size;
    strides[t->ndim] = t->ndim ? strides[dim] : 1;
    if (t->ndim) {
        sizes[dim] = (int32_t)((all - size) / step + 1);
        strides[dim] = sizes[dim] > 1 ? strides[dim] * (int32_t)step : strides[dim];
    }
    return MP_OBJ_FROM_PTR(pt_view(t, t->ndim + 1, sizes, strides, 0));
}
