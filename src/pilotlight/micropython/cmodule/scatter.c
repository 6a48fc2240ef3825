/* scatter, index_add, put: elements written by indices. */
#include "gather.h"

#include "generated/rows.h"

/* The tensor to change: self, or a copy of it that is the result. */
static pt_tensor_t *changed(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor, *y = c->in_place ? x : pt_result(c, x->dtype, x->ndim, x->dims);
    pt_check_writable(y);
    if (y != x) {
        pt_copy_into(y, x);
    }
    return y;
}

/* A number or a tensor without dimensions, as wide as these sizes. */
static pt_tensor_t *everywhere(mp_obj_t value, int dtype, int ndim, const int32_t *sizes)
{
    static const int32_t strides[PT_MAX_DIMS] = {0};
    return pt_view(pt_from_number(value, dtype), ndim, sizes, strides, 0);
}

#define MEAN PT_TAKE /* an action for what no other one is */

static const struct {
    char name[9];
    uint8_t action;
} reductions[] = {{"add", PT_ADD}, {"multiply", PT_MULTIPLY}, {"sum", PT_ADD}, {"prod", PT_MULTIPLY},
                  {"mean", MEAN}, {"amax", PT_LARGEST}, {"amin", PT_LEAST}};

/* The action that reduce= names, of those from `first` to `last` in the table. */
static int action_of(mp_obj_t reduce, int first, int last, const char *message)
{
    const char *name = mp_obj_str_get_str(reduce);
    for (int k = first; k <= last; k++) {
        if (strcmp(name, reductions[k].name) == 0) {
            return reductions[k].action;
        }
    }
    mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("reduce argument must be either %s, got %s"), message, name);
}

/* Where indices point the result starts anew: from what changes nothing. */
static void start_anew(pt_tensor_t *y, int dim, pt_tensor_t *index, int action, int rule)
{
    pt_chunk_t one;
    const bool real = pt_is_float(y->dtype);
    const int bits = 8 * pt_size(y->dtype) - (y->dtype != PT_UINT8 && y->dtype != PT_BOOL);
    const int64_t top = y->dtype == PT_BOOL ? 1 : (int64_t)((1ull << bits) - 1u);
    const int64_t low = y->dtype <= PT_UINT8 ? 0 : -top - 1;
    if (real) {
        const float inf = 1e38f * 10.0f;
        one.f[0] = action == PT_MULTIPLY ? 1.0f : action == PT_LARGEST ? -inf : action == PT_LEAST ? inf : 0.0f;
    } else {
        one.i[0] = action == PT_MULTIPLY ? 1 : action == PT_LARGEST ? low : action == PT_LEAST ? top : 0;
    }
    pt_tensor_t *number = pt_new(y->dtype, 0, NULL);
    pt_store(number->data, y->dtype, 0, real ? PT_FLOAT32 : PT_INT64, &one, 1);
    static const int32_t strides[PT_MAX_DIMS] = {0};
    pt_along(y, dim, index, pt_view(number, index->ndim, index->dims, strides, 0), PT_PUT, rule);
}

/* y / count, rounded down for integers, where count is not 0. */
static void divide(pt_tensor_t *y, pt_tensor_t *count)
{
    pt_tensor_t *const operands[] = {y, count};
    pt_walk_t w;
    pt_walk(&w, 2, operands);
    while (pt_next(&w)) {
        for (int32_t k = 0; k < w.run; k++) {
            uint8_t *at = w.data[0] + (ptrdiff_t)k * w.steps[0][w.ndim - 1] * w.width[0];
            const int compute = pt_compute(y->dtype);
            pt_chunk_t a, n;
            pt_load(w.data[1] + (ptrdiff_t)k * w.steps[1][w.ndim - 1] * w.width[1], count->dtype, 1, PT_INT64, &n, 1);
            pt_load(at, y->dtype, 1, compute, &a, 1);
            if (n.i[0] > 1 && compute == PT_FLOAT32) {
                a.f[0] /= (float)n.i[0];
            } else if (n.i[0] > 1) {
                a.i[0] = a.i[0] / n.i[0] - (a.i[0] % n.i[0] < 0);
            }
            pt_store(at, y->dtype, 1, compute, &a, 1);
        }
    }
}

static void merge(pt_tensor_t *y, int dim, pt_tensor_t *index, pt_tensor_t *src, int action, bool with_self, int rule)
{
    const bool mean = action == MEAN;
    if (!with_self) {
        start_anew(y, dim, index, action, rule);
    }
    if (mean) {
        pt_tensor_t *count = pt_new_like(y, PT_INT32);
        pt_fill(count, MP_OBJ_NEW_SMALL_INT(with_self));
        pt_tensor_t *one = everywhere(MP_OBJ_NEW_SMALL_INT(1), PT_INT32, index->ndim, index->dims);
        pt_along(count, dim, index, one, PT_ADD, rule);
        pt_along(y, dim, index, src, PT_ADD, rule);
        divide(y, count);
    } else {
        pt_along(y, dim, index, src, action, rule);
    }
}

/* ---- scatter ----------------------------------------------------------------------------------------------------- */

/* Checks (self, dim, index, src) and gives the part of src that the indices stand for. */
static pt_tensor_t *source_of(pt_call_t *c, int dim, pt_tensor_t *index, pt_tensor_t *src)
{
    pt_tensor_t *x = c->args[0].v.tensor;
    const int ndim = x->ndim ? x->ndim : 1;
    pt_index_type(c, index, "int32/int64");
    if (src->dtype != x->dtype) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("scatter(): Expected self.dtype to be equal to src.dtype"));
    }
    if (pt_numel(index) == 0) {
        return pt_expand(pt_from_number(MP_OBJ_NEW_SMALL_INT(0), x->dtype), index->ndim, index->dims);
    }
    if ((index->ndim ? index->ndim : 1) != ndim || (src->ndim ? src->ndim : 1) != ndim) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("Index tensor must have the same number of dimensions as %s tensor"),
            (index->ndim ? index->ndim : 1) != ndim ? "self" : "src");
    }
    for (int d = 0; d < index->ndim; d++) {
        const int32_t own = x->ndim ? x->dims[d] : 1, given = src->ndim ? src->dims[d] : 1;
        if ((d != dim && index->dims[d] > own) || index->dims[d] > given) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("Expected index %s to be no larger than self %s apart from dimension %d and to be no "
                              "larger "
                              "size than src %s"), pt_shape_text(index->ndim, index->dims),
                pt_shape_text(x->ndim, x->dims), dim, pt_shape_text(src->ndim, src->dims));
        }
    }
    return src->ndim == index->ndim ? pt_view(src, index->ndim, index->dims, pt_strides(src), 0)
        : pt_reshape(src, index->ndim, index->dims);
}

static mp_obj_t scattered(pt_call_t *c, int action, bool with_self, pt_tensor_t *src)
{
    const int dim = pt_dim(c, c->args[1].v.i, c->args[0].v.tensor->ndim);
    pt_tensor_t *index = c->args[2].v.tensor;
    src = source_of(c, dim, index, src);
    pt_tensor_t *y = changed(c);
    merge(y, dim, index, src, action, with_self, PT_NO_NEGATIVE);
    return MP_OBJ_FROM_PTR(y);
}

/* scatter and scatter_add: (self, dim, index, src); overload->data is the action, with 8 for a value as src, with 16
 * for reduce= as well. */
mp_obj_t pt_do_scatter(pt_call_t *c)
{
    const int data = (int)c->overload->data.number;
    const pt_tensor_t *index = c->args[2].v.tensor;
    int action = data & 7;
    if (data & 16) {
        action = action_of(c->args[4].object, 0, 1, "add or multiply");
    }
    return scattered(c, action, true, data & 8
        ? everywhere(c->args[3].object, c->args[0].v.tensor->dtype, index->ndim, index->dims) : c->args[3].v.tensor);
}

/* scatter_reduce: (self, dim, index, src, reduce, include_self). */
mp_obj_t pt_do_scatter_reduce(pt_call_t *c)
{
    const int action = action_of(c->args[4].object, 2, 6, "sum, prod, mean, amax or amin");
    return scattered(c, action, c->args[5].v.i != 0, c->args[3].v.tensor);
}

/* ---- rows by index ----------------------------------------------------------------------------------------------- */

/* The rows of (self, dim, index, source) that go where a vector of indices says. */
static mp_obj_t rows(pt_call_t *c, pt_tensor_t *source, int action, bool with_self, int rule)
{
    pt_tensor_t *x = c->args[0].v.tensor, *index = c->args[2].v.tensor;
    const int dim = pt_dim(c, c->args[1].v.i, x->ndim);
    int32_t sizes[PT_MAX_DIMS];
    memcpy(sizes, x->dims, x->ndim * sizeof(int32_t));
    if (x->ndim) {
        sizes[dim] = pt_numel(index);
    }
    pt_tensor_t *ids = pt_index_vector(c, index, x->ndim, dim, sizes);
    if (source->dtype != x->dtype) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("%q(): self (%s) and source (%s) must have the same scalar type"), c->op->name,
            pt_dtype_name(x->dtype), pt_dtype_name(source->dtype));
    }
    if (source->ndim && source->ndim == x->ndim && source->dims[dim] != sizes[dim]) {
        mp_raise_msg_varg(rule & PT_INDEX_ERROR ? &mp_type_IndexError : &mp_type_RuntimeError,
            MP_ERROR_TEXT("%q(): Number of indices (%d) should be equal to source.size(dim): (%d), for dim: %d"),
            c->op->name, (int)sizes[dim], (int)source->dims[dim], dim);
    }
    if (source->ndim != x->ndim && !(source->ndim <= 1 && x->ndim <= 1)) {
        mp_raise_msg_varg(rule & PT_INDEX_ERROR ? &mp_type_IndexError : &mp_type_RuntimeError,
            MP_ERROR_TEXT("%q(): When source and destination are not scalars, their dimensionality must match"),
            c->op->name);
    }
    for (int d = 0; d < x->ndim && d < source->ndim; d++) {
        if (source->dims[d] != sizes[d]) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("source tensor shape must match self tensor shape, excluding the specified dimension."));
        }
    }
    pt_tensor_t *from = source->ndim == x->ndim ? source : pt_reshape(source, x->ndim, sizes), *y = changed(c);
    merge(y, dim, ids, from, action, with_self, rule);
    return MP_OBJ_FROM_PTR(y);
}

mp_obj_t pt_do_index_copy(pt_call_t *c) { return rows(c, c->args[3].v.tensor, PT_PUT, true, PT_INDEX_ERROR); }

/* index_add: (self, dim, index, source, alpha). */
mp_obj_t pt_do_index_add(pt_call_t *c)
{
    pt_tensor_t *source = c->args[3].v.tensor;
    if (c->args[4].object != MP_OBJ_NEW_SMALL_INT(1)) {
        pt_tensor_t *const operands[] = {source, pt_from_number(c->args[4].object, source->dtype)};
        source = pt_apply(&pt_row_mul, 2, operands, NULL);
    }
    return rows(c, source, PT_ADD, true, PT_NO_NEGATIVE);
}

/* index_reduce: (self, dim, index, source, reduce, include_self). */
mp_obj_t pt_do_index_reduce(pt_call_t *c)
{
    const int action = action_of(c->args[4].object, 3, 6, "prod, mean, amax or amin");
    return rows(c, c->args[3].v.tensor, action, c->args[5].v.i != 0, PT_INDEX_ERROR);
}

/* index_fill: (self, dim, index, value); overload->data 1: value is a tensor. */
mp_obj_t pt_do_index_fill(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor, *index = c->args[2].v.tensor;
    const int dim = pt_dim(c, c->args[1].v.i, x->ndim);
    mp_obj_t value = c->args[3].object;
    int32_t sizes[PT_MAX_DIMS];
    if (c->overload->data.number) {
        if (c->args[3].v.tensor->ndim) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("index_fill_ only supports a 0-dimensional value tensor, but got tensor with %d "
                              "dimension(s)."), (int)c->args[3].v.tensor->ndim);
        }
        value = pt_item(c->args[3].v.tensor, 0);
    }
    memcpy(sizes, x->dims, x->ndim * sizeof(int32_t));
    if (x->ndim) {
        sizes[dim] = pt_numel(index);
    }
    pt_tensor_t *ids = pt_index_vector(c, index, x->ndim, dim, sizes), *y = changed(c);
    pt_along(y, dim, ids, everywhere(value, y->dtype, x->ndim, sizes), PT_PUT, PT_NEGATIVE | PT_INDEX_ERROR);
    return MP_OBJ_FROM_PTR(y);
}

/* put: (self, index, source, accumulate), by places in self as one row. */
mp_obj_t pt_do_put(pt_call_t *c)
{
    pt_tensor_t *index = c->args[1].v.tensor, *source = c->args[2].v.tensor, *y = changed(c);
    const int32_t all = pt_numel(y), count = pt_numel(index);
    if (pt_numel(source) != count) {
        mp_raise_msg_varg(&mp_type_IndexError,
            MP_ERROR_TEXT("put_(): Expected source and index to have the same number of elements"));
    }
    if (source->dtype != y->dtype || index->dtype != PT_INT64) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("put_(): self and source expected to have the same dtype, and index to be long"));
    }
    pt_tensor_t *row = pt_contiguous(y, y->dtype);
    pt_along(pt_reshape(row, 1, &all), 0, pt_reshape(index, 1, &count), pt_reshape(source, 1, &count),
        c->args[3].v.i ? PT_ADD : PT_PUT, PT_NEGATIVE | PT_INDEX_ERROR);
    if (row != y) {
        pt_copy_into(y, row);
    }
    return MP_OBJ_FROM_PTR(y);
}
