/* Tensors put together, repeated and turned. */
#include "shape.h"

#include "generated/rows.h"

/* ---- one behind the other ---------------------------------------------------------------------------------------- */

/* cat: vectors without elements fit everywhere and count only for the type, as PyTorch has it. */
static mp_obj_t joined(pt_call_t *c, size_t count, const mp_obj_t *items, int64_t along)
{
    pt_tensor_t *first = NULL;
    int32_t sizes[PT_MAX_DIMS];
    int dtype = -1, dim = 0;
    int64_t total = 0;
    for (size_t k = 0; k < count; k++) {
        pt_tensor_t *t = pt_tensor(items[k]);
        dtype = dtype < 0 ? t->dtype : pt_promote(dtype, t->dtype);
        if (t->ndim == 0) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("zero-dimensional tensor (at position %d) cannot be concatenated"), (int)k);
        }
        if (t->ndim == 1 && t->dims[0] == 0) {
            continue;
        }
        if (!first) {
            first = t;
            dim = pt_dim(c, along, t->ndim);
            memcpy(sizes, t->dims, t->ndim * sizeof(int32_t));
        }
        if (t->ndim != first->ndim) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("Tensors must have same number of dimensions: got %d and %d"), (int)first->ndim,
                (int)t->ndim);
        }
        for (int d = 0; d < t->ndim; d++) {
            if (d != dim && t->dims[d] != sizes[d]) {
                mp_raise_msg_varg(&mp_type_RuntimeError,
                    MP_ERROR_TEXT("Sizes of tensors must match except in dimension %d. Expected size %d but got "
                                  "size %d for tensor number %d in the list."), dim, (int)sizes[d],
                    (int)t->dims[d], (int)k);
            }
        }
        total += t->dims[dim];
    }
    if (!first) { /* nothing but vectors without elements */
        pt_dim(c, along, 1);
        sizes[0] = 0;
        return MP_OBJ_FROM_PTR(pt_result(c, dtype, 1, sizes));
    }
    if (total > INT32_MAX) {
        m_malloc_fail((size_t)INT32_MAX);
    }
    sizes[dim] = (int32_t)total;
    pt_tensor_t *y = pt_result(c, dtype, first->ndim, sizes);
    int32_t start = 0;
    for (size_t k = 0; k < count; k++) {
        pt_check_apart(c, y, pt_tensor(items[k]));
    }
    for (size_t k = 0; k < count; k++) {
        pt_tensor_t *t = pt_tensor(items[k]);
        if (t->ndim == first->ndim) {
            pt_copy_into(pt_slice(y, dim, start, t->dims[dim], 1), t);
            start += t->dims[dim];
        }
        pt_poll();
    }
    return MP_OBJ_FROM_PTR(y);
}

static mp_obj_tuple_t *tensors_of(pt_call_t *c, const pt_arg_t *list)
{
    for (int k = 0; k < list->count; k++) {
        if (!pt_is_tensor(list->v.objects[k])) {
            mp_raise_msg_varg(&mp_type_TypeError,
                MP_ERROR_TEXT("expected Tensor as element %d in argument 0, but got %s"),
                k, mp_obj_get_type_str(list->v.objects[k]));
        }
    }
    if (list->count == 0) {
        mp_raise_msg_varg(c->op->name == MP_QSTR_stack || c->op->name == MP_QSTR_meshgrid ? &mp_type_RuntimeError
                                                                                       : &mp_type_ValueError,
            MP_ERROR_TEXT("%q expects a non-empty TensorList"), c->op->name);
    }
    return MP_OBJ_TO_PTR(mp_obj_new_tuple(list->count, list->v.objects));
}

mp_obj_t pt_do_cat(pt_call_t *c)
{
    const mp_obj_tuple_t *all = tensors_of(c, &c->args[0]);
    return joined(c, all->len, all->items, c->args[1].v.i);
}

mp_obj_t pt_do_stack(pt_call_t *c)
{
    mp_obj_tuple_t *all = tensors_of(c, &c->args[0]);
    const pt_tensor_t *first = pt_tensor(all->items[0]);
    const int dim = pt_dim(c, c->args[1].v.i, first->ndim + 1);
    for (size_t k = 0; k < all->len; k++) {
        pt_tensor_t *t = pt_tensor(all->items[k]);
        if (t->ndim != first->ndim || memcmp(t->dims, first->dims, t->ndim * sizeof(int32_t)) != 0) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("stack expects each tensor to be equal size, but got %s at entry 0 and %s at entry %d"),
                pt_shape_text(first->ndim, first->dims), pt_shape_text(t->ndim, t->dims), (int)k);
        }
        all->items[k] = MP_OBJ_FROM_PTR(pt_unsqueeze(t, dim));
    }
    return joined(c, all->len, all->items, dim);
}

/* hstack, vstack, dstack and column_stack: overload->data is the number of dimensions that each must have, or 4. */
mp_obj_t pt_do_hstack(pt_call_t *c)
{
    mp_obj_tuple_t *all = tensors_of(c, &c->args[0]);
    const int least = (int)c->overload->data.number;
    for (size_t k = 0; k < all->len; k++) {
        pt_tensor_t *t = pt_tensor(all->items[k]);
        for (const int wanted = least == 4 ? 2 : least; t->ndim < wanted;) {
            t = pt_unsqueeze(t, least == 4 ? t->ndim : t->ndim == 2 ? 2 : 0);
        }
        all->items[k] = MP_OBJ_FROM_PTR(t);
    }
    const int ndim = pt_tensor(all->items[0])->ndim;
    return joined(c, all->len, all->items, least == 2 ? 0 : least == 3 ? 2 : ndim > 1 ? 1 : 0);
}

mp_obj_t pt_do_block_diag(pt_call_t *c)
{
    mp_obj_tuple_t *all = tensors_of(c, &c->args[0]);
    int32_t sizes[2] = {0, 0}, row = 0, column = 0;
    int dtype = PT_BOOL;
    for (size_t k = 0; k < all->len; k++) {
        pt_tensor_t *t = pt_tensor(all->items[k]);
        if (t->ndim > 2) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("torch.block_diag: Input tensors must have 2 or fewer dimensions."));
        }
        while (t->ndim < 2) {
            t = pt_unsqueeze(t, 0);
        }
        all->items[k] = MP_OBJ_FROM_PTR(t);
        dtype = pt_promote(dtype, t->dtype);
        sizes[0] += t->dims[0];
        sizes[1] += t->dims[1];
    }
    pt_tensor_t *y = pt_result(c, dtype, 2, sizes);
    pt_fill(y, MP_OBJ_NEW_SMALL_INT(0));
    for (size_t k = 0; k < all->len; k++) {
        pt_tensor_t *t = pt_tensor(all->items[k]);
        pt_copy_into(pt_slice(pt_slice(y, 0, row, t->dims[0], 1), 1, column, t->dims[1], 1), t);
        row += t->dims[0];
        column += t->dims[1];
    }
    return MP_OBJ_FROM_PTR(y);
}

/* meshgrid: views of vectors, each along a dimension of its own; overload->data 1: with indexing. */
mp_obj_t pt_do_meshgrid(pt_call_t *c)
{
    mp_obj_tuple_t *all = tensors_of(c, &c->args[0]);
    const int count = (int)all->len;
    int32_t sizes[PT_MAX_DIMS], strides[PT_MAX_DIMS];
    const char *indexing = c->overload->data.number ? mp_obj_str_get_str(c->args[1].object) : "ij";
    if (strcmp(indexing, "ij") != 0 && strcmp(indexing, "xy") != 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: %s"), indexing);
    }
    if (count > PT_MAX_DIMS) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("tensors have at most %d dimensions, got %d"),
            PT_MAX_DIMS, count);
    }
    const int swap = indexing[0] == 'x' && count > 1;
    for (int k = 0; k < count; k++) {
        const pt_tensor_t *t = pt_tensor(all->items[k]);
        if (t->ndim > 1 || t->dtype != pt_tensor(all->items[0])->dtype) {
            mp_raise_msg(&mp_type_RuntimeError, t->ndim > 1
                ? MP_ERROR_TEXT("torch.meshgrid: Expected 0D or 1D tensor in the tensor list")
                : MP_ERROR_TEXT("meshgrid expects all tensors to have the same dtype"));
        }
        sizes[swap && k < 2 ? 1 - k : k] = t->ndim ? t->dims[0] : 1;
    }
    for (int k = 0; k < count; k++) {
        pt_tensor_t *t = pt_tensor(all->items[k]);
        for (int d = 0; d < count; d++) {
            strides[d] = t->ndim && d == (swap && k < 2 ? 1 - k : k) ? pt_strides(t)[0] : 0;
        }
        all->items[k] = MP_OBJ_FROM_PTR(pt_view(t, count, sizes, strides, 0));
    }
    return MP_OBJ_FROM_PTR(all);
}

/* ---- repeated and turned ----------------------------------------------------------------------------------------- */

/* repeat (overload->data 0) and tile (1), which takes fewer numbers than there are dimensions. */
mp_obj_t pt_do_repeat(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const pt_arg_t *times = &c->args[1];
    int32_t sizes[PT_MAX_DIMS];
    const int ndim = times->count > t->ndim ? times->count : t->ndim;
    if (times->count < t->ndim && !c->overload->data.number) {
        mp_raise_msg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("Number of dimensions of repeat dims can not be smaller than number of dimensions of "
                          "tensor"));
    }
    while (t->ndim < ndim) {
        t = pt_unsqueeze(t, 0);
    }
    for (int d = 0; d < ndim; d++) {
        const int at = d - (ndim - times->count);
        const int64_t size = (int64_t)t->dims[d] * (at < 0 ? 1 : times->v.ints[at]);
        sizes[d] = size > INT32_MAX ? INT32_MAX : size < -1 ? -1 : (int32_t)size;
    }
    pt_tensor_t *y = pt_result(c, t->dtype, ndim, sizes);
    if (pt_numel(y) == 0) {
        return MP_OBJ_FROM_PTR(y);
    }
    pt_tensor_t *part = y; /* what holds a whole number of copies, dimension by dimension from the last */
    for (int d = 0; d < ndim; d++) {
        part = pt_slice(part, d, 0, t->dims[d], 1);
    }
    pt_copy_into(part, t);
    for (int d = ndim - 1; d >= 0; d--) {
        pt_tensor_t *whole = pt_view(part, ndim, part->dims, pt_strides(y), 0);
        whole->dims[d] = sizes[d];
        for (int32_t done = t->dims[d], n; done < sizes[d]; done += n) {
            n = sizes[d] - done < done ? sizes[d] - done : done;
            pt_copy_into(pt_slice(whole, d, done, n, 1), pt_slice(whole, d, 0, n, 1));
            pt_poll();
        }
        part = whole;
    }
    return MP_OBJ_FROM_PTR(y);
}

/* y is x moved on by `shift` along a dimension. */
static void rolled(pt_tensor_t *x, pt_tensor_t *y, int dim, int64_t shift)
{
    const int32_t size = x->dims[dim];
    if (size == 0) {
        return;
    }
    const int32_t by = (int32_t)((shift % size + size) % size);
    pt_copy_into(pt_slice(y, dim, by, size - by, 1), pt_slice(x, dim, 0, size - by, 1));
    pt_copy_into(pt_slice(y, dim, 0, by, 1), pt_slice(x, dim, size - by, by, 1));
}

mp_obj_t pt_do_roll(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor;
    const pt_arg_t *shifts = &c->args[1], *dims = &c->args[2];
    const int count = dims->given ? dims->count : 0;
    if (shifts->count == 0) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("`shifts` required"));
    }
    if (x->ndim == 0 && count) {
        mp_raise_msg_varg(&mp_type_IndexError, MP_ERROR_TEXT("Dimension specified as %d but tensor has no dimensions"),
            (int)dims->v.ints[0]);
    }
    if (count != shifts->count && !(count == 0 && shifts->count == 1)) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("shifts and dimensions must align. shifts: %d, dims:%d"), (int)shifts->count, count);
    }
    pt_tensor_t *y = pt_result(c, x->dtype, x->ndim, x->dims);
    if (x->ndim == 0 || pt_numel(x) == 0) {
        pt_copy_into(y, x);
        return MP_OBJ_FROM_PTR(y);
    }
    if (count == 0) { /* all in one row */
        const int32_t all = pt_numel(x);
        pt_tensor_t *flat = pt_new(x->dtype, 1, &all);
        rolled(pt_view(pt_contiguous(x, x->dtype), 1, &all, NULL, 0), flat, 0, shifts->v.ints[0]);
        pt_copy_into(y, pt_view(flat, x->ndim, x->dims, NULL, 0));
        return MP_OBJ_FROM_PTR(y);
    }
    for (int k = 0; k < count; k++) {
        pt_tensor_t *to = k == count - 1 ? y : pt_new_like(x, x->dtype);
        rolled(x, to, pt_dim(c, dims->v.ints[k], x->ndim), shifts->v.ints[k]);
        x = to;
    }
    return MP_OBJ_FROM_PTR(y);
}

/* A view that runs backwards: for copying only, users never hold it. */
static pt_tensor_t *backwards(pt_tensor_t *t, uint32_t bits)
{
    int32_t strides[PT_MAX_DIMS], start = 0;
    for (int d = 0; d < t->ndim; d++) {
        const bool back = (bits & 1u << d) && t->dims[d] > 0;
        strides[d] = back ? -pt_strides(t)[d] : pt_strides(t)[d];
        start += back ? (t->dims[d] - 1) * pt_strides(t)[d] : 0;
    }
    return pt_view(t, t->ndim, t->dims, strides, pt_numel(t) ? start : 0);
}

static mp_obj_t copied(pt_call_t *c, pt_tensor_t *view)
{
    pt_tensor_t *y = pt_result(c, view->dtype, view->ndim, view->dims);
    pt_copy_into(y, view);
    return MP_OBJ_FROM_PTR(y);
}

mp_obj_t pt_do_flip(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor;
    return copied(c, backwards(x, pt_dims(c, &c->args[1], x->ndim)));
}

/* flipud (overload->data 0) and fliplr (1). */
mp_obj_t pt_do_flipud(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor;
    const int dim = (int)c->overload->data.number;
    if (x->ndim <= dim) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("Input must be >= %d-d."), dim + 1);
    }
    return copied(c, backwards(x, 1u << dim));
}

mp_obj_t pt_do_rot90(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor;
    static const int32_t usual[] = {0, 1};
    pt_arg_t *dims = &c->args[2];
    if (!dims->given || dims->count == 0) {
        dims->v.ints = usual;
        dims->count = 2;
    }
    if (dims->count != 2 || x->ndim < 2) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("expected total %s, but got %s = %d"),
            dims->count != 2 ? "rotation dims == 2" : "dims >= 2", dims->count != 2 ? "dims" : "total dims",
            dims->count != 2 ? (int)dims->count : (int)x->ndim);
    }
    const int a = pt_dim(c, dims->v.ints[0], x->ndim), b = pt_dim(c, dims->v.ints[1], x->ndim);
    if (a == b) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("expected rotation dims to be different, but got dim0 = %d and dim1 = %d"),
            (int)dims->v.ints[0], (int)dims->v.ints[1]);
    }
    const int turns = (int)(c->args[1].v.i & 3);
    pt_tensor_t *v = backwards(x, turns == 1 ? 1u << b : turns == 3 ? 1u << a : turns == 2 ? 1u << a | 1u << b : 0);
    return copied(c, turns & 1 ? pt_transpose(v, a, b) : v);
}

/* ---- triangles --------------------------------------------------------------------------------------------------- */

/* The part of row r of a triangle: from where, and how many columns. */
static int32_t triangle(bool upper, int64_t r, int64_t offset, int32_t columns, int32_t *start)
{
    int64_t edge = r + offset + !upper;
    edge = edge < 0 ? 0 : edge > columns ? columns : edge;
    *start = upper ? (int32_t)edge : 0;
    return upper ? columns - (int32_t)edge : (int32_t)edge;
}

/* tril (overload->data 0) and triu (1): the rest, which is a triangle too, is zero. */
mp_obj_t pt_do_tril(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor;
    const bool upper = c->overload->data.number != 0;
    if (x->ndim < 2) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("%s: input tensor must have at least 2 dimensions"),
            upper ? "triu" : "tril");
    }
    pt_tensor_t *y = pt_result(c, x->dtype, x->ndim, x->dims);
    const int row = x->ndim - 2, column = x->ndim - 1;
    if (y != x) {
        pt_copy_into(y, x);
    }
    for (int32_t r = 0; r < x->dims[row] && pt_numel(y); r++) {
        int32_t start;
        const int32_t n = triangle(!upper, r, c->args[1].v.i + (upper ? -1 : 1), x->dims[column], &start);
        pt_fill(pt_slice(pt_slice(y, row, r, 1, 1), column, start, n, 1), MP_OBJ_NEW_SMALL_INT(0));
    }
    return MP_OBJ_FROM_PTR(y);
}

/* tril_indices (overload->data 0) and triu_indices (1): (row, col, offset, dtype). */
mp_obj_t pt_do_tril_indices(pt_call_t *c)
{
    const int64_t rows = c->args[0].v.i, columns = c->args[1].v.i;
    if (rows < 0 || columns < 0 || rows > INT32_MAX || columns > INT32_MAX) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("%s must be non-negative, got%d"),
            rows < 0 ? "row" : "col", (int)(rows < 0 ? rows : columns));
    }
    pt_tensor_t *y = NULL;
    int64_t count = 0;
    for (int pass = 0; pass < 2; pass++) { /* count, then write */
        uint8_t *to = y ? y->data : NULL;
        for (int32_t r = 0; r < (int32_t)rows; r++) {
            int32_t start;
            const int32_t n = triangle(c->overload->data.number != 0, r, c->args[2].v.i, (int32_t)columns, &start);
            count += n;
            for (int32_t k = 0; pass && k < n; k++) {
                const int64_t pair[] = {r, start + k};
                pt_store(to, y->dtype, pt_strides(y)[0], PT_INT64, pair, 2);
                to += pt_strides(y)[1] * pt_size(y->dtype);
            }
        }
        if (!pass) {
            const int32_t sizes[] = {2, count > INT32_MAX ? INT32_MAX : (int32_t)count};
            y = pt_result(c, c->args[3].given ? c->args[3].v.dtype : PT_INT64, 2, sizes);
        }
    }
    return MP_OBJ_FROM_PTR(y);
}

/* kron: every element of self times the whole of other. */
mp_obj_t pt_do_kron(pt_call_t *c)
{
    pt_tensor_t *a = c->args[0].v.tensor, *b = c->args[1].v.tensor;
    const int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    int32_t sizes[PT_MAX_DIMS];
    for (int k = 0; k < 2; k++) {
        pt_tensor_t **t = k ? &b : &a;
        while ((*t)->ndim < ndim) {
            *t = pt_unsqueeze(*t, 0);
        }
    }
    for (int d = 0; d < ndim; d++) {
        sizes[d] = a->dims[d] * b->dims[d];
    }
    for (int d = ndim - 1; d >= 0; d--) { /* a's dimension before b's, each broadcast along the other's */
        a = pt_unsqueeze(a, d + 1);
        b = pt_unsqueeze(b, d);
    }
    pt_tensor_t *const operands[] = {a, b};
    pt_tensor_t *product = pt_apply(&pt_row_mul, 2, operands, NULL);
    return copied(c, pt_view(product, ndim, sizes, NULL, 0));
}
