/* gather, index_select, take: elements picked by indices; and the walk that putting them shares. */
#include "gather.h"

#include "number_f32.h"

static int64_t place(int64_t index, int dim, int32_t size, int rule)
{
    if (rule & PT_WRAP && size) {
        index %= size;
    }
    if ((rule & (PT_NEGATIVE | PT_WRAP)) && index < 0 && index >= -(int64_t)size) {
        index += size;
    }
    if (index < 0 || index >= size) {
        if (rule & PT_IN_SELF) {
            mp_raise_msg(&mp_type_IndexError, MP_ERROR_TEXT("index out of range in self"));
        }
        mp_raise_msg_varg(rule & PT_INDEX_ERROR ? &mp_type_IndexError : &mp_type_RuntimeError,
            MP_ERROR_TEXT("index %d is out of bounds for dimension %d with size %d"), (int)index, dim, (int)size);
    }
    return index;
}

static void combine(int action, int compute, pt_chunk_t *a, const pt_chunk_t *b, int n)
{
    for (int k = 0; k < n; k++) {
        if (compute == PT_FLOAT32) {
            const float x = a->f[k], y = b->f[k];
            const bool other = y != y || (action == PT_LARGEST ? y > x : y < x);
            a->f[k] = action == PT_ADD ? x + y : action == PT_MULTIPLY ? x * y : action == PT_PUT || other ? y : x;
        } else {
            const uint64_t x = (uint64_t)a->i[k], y = (uint64_t)b->i[k];
            const bool other = action == PT_LARGEST ? b->i[k] > a->i[k] : b->i[k] < a->i[k];
            a->i[k] = (int64_t)(action == PT_ADD ? x + y : action == PT_MULTIPLY ? x * y
                : action == PT_PUT || other ? y : x);
        }
    }
}

/* n elements of `other`, `step` apart, meet n of `full`. */
static void meet(pt_tensor_t *full, uint8_t *at, int32_t full_step, pt_tensor_t *other, uint8_t *with, int32_t step,
    int action, int32_t n)
{
    const int width = pt_size(full->dtype), compute = pt_compute(full->dtype);
    pt_chunk_t a, b;
    if (action <= PT_PUT && full->dtype == other->dtype && (n == 1 || (full_step == 1 && step == 1))) {
        memmove(action == PT_PUT ? at : with, action == PT_PUT ? with : at, (size_t)n * (size_t)width);
        return;
    }
    for (int32_t k = 0; k < n; k += PT_CHUNK) {
        const int m = n - k < PT_CHUNK ? (int)(n - k) : PT_CHUNK;
        uint8_t *here = at + (ptrdiff_t)k * full_step * width;
        uint8_t *there = with + (ptrdiff_t)k * step * pt_size(other->dtype);
        pt_load(here, full->dtype, full_step, compute, &a, m);
        if (action == PT_TAKE) {
            pt_store(there, other->dtype, step, compute, &a, m);
        } else {
            pt_load(there, other->dtype, step, compute, &b, m);
            combine(action, compute, &a, &b, m);
            pt_store(here, full->dtype, full_step, compute, &a, m);
        }
    }
}

void pt_along(pt_tensor_t *full, int dim, pt_tensor_t *index, pt_tensor_t *other, int action, int rule)
{
    const int32_t size = full->ndim ? full->dims[dim] : 1, stride = full->ndim ? pt_strides(full)[dim] : 0;
    const int width = pt_size(full->dtype);
    int32_t strides[PT_MAX_DIMS] = {0};
    for (int d = 0; d < full->ndim && d < index->ndim; d++) {
        strides[d] = d == dim ? 0 : pt_strides(full)[d];
    }
    pt_tensor_t *const operands[] = {index, other, pt_view(full, index->ndim, index->dims, strides, 0)};
    pt_chunk_t ids;
    pt_walk_t w;
    pt_walk(&w, 3, operands);
    while (pt_next(&w)) {
        const int last = w.ndim - 1;
        const int32_t si = w.steps[0][last], so = w.steps[1][last], sf = w.steps[2][last];
        if (si == 0) { /* one index for the run */
            pt_load(w.data[0], index->dtype, 0, PT_INT64, &ids, 1);
            meet(full, w.data[2] + place(ids.i[0], dim, size, rule) * stride * width, sf, other, w.data[1], so, action,
                w.run);
            pt_poll();
            continue;
        }
        for (int32_t at = 0; at < w.run; at += PT_CHUNK) {
            const int n = w.run - at < PT_CHUNK ? (int)(w.run - at) : PT_CHUNK;
            pt_load(w.data[0] + (ptrdiff_t)at * si * w.width[0], index->dtype, si, PT_INT64, &ids, n);
            for (int k = 0; k < n; k++) {
                const int64_t from = (int64_t)(at + k) * sf + place(ids.i[k], dim, size, rule) * stride;
                uint8_t *with = w.data[1] + (ptrdiff_t)(at + k) * so * w.width[1];
                meet(full, w.data[2] + (ptrdiff_t)from * width, 1, other, with, 1, action, 1);
            }
            pt_poll();
        }
    }
}

void pt_index_type(pt_call_t *c, const pt_tensor_t *index, const char *names)
{
    if (index->dtype != PT_INT64 && index->dtype != PT_INT32 && pt_numel(index)) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("%q(): Expected dtype %s for index"), c->op->name, names);
    }
}

pt_tensor_t *pt_index_vector(pt_call_t *c, pt_tensor_t *index, int ndim, int dim, const int32_t *sizes)
{
    int32_t strides[PT_MAX_DIMS] = {0};
    if (index->ndim > 1) {
        mp_raise_msg_varg(&mp_type_IndexError, MP_ERROR_TEXT("%q(): Index is supposed to be a vector"), c->op->name);
    }
    pt_index_type(c, index, "int32 or int64");
    if (ndim) {
        strides[dim] = index->ndim ? pt_strides(index)[0] : 0;
    }
    return pt_view(index, ndim, sizes, strides, 0);
}

/* ---- picking ----------------------------------------------------------------------------------------------------- */

mp_obj_t pt_do_gather(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor, *index = c->args[2].v.tensor;
    const int dim = pt_dim(c, c->args[1].v.i, x->ndim);
    const int ndim = x->ndim ? x->ndim : 1, own = index->ndim ? index->ndim : 1;
    if (pt_numel(index)) {
        pt_index_type(c, index, "int32/int64");
    }
    if (pt_numel(index) && ndim != own) {
        mp_raise_msg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("Index tensor must have the same number of dimensions as input tensor"));
    }
    for (int d = 0; d < x->ndim && d < index->ndim && pt_numel(index); d++) {
        if (d != dim && index->dims[d] > x->dims[d]) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("Size does not match at dimension %d expected index %s to be no larger than self %s"),
                d, pt_shape_text(index->ndim, index->dims), pt_shape_text(x->ndim, x->dims));
        }
    }
    pt_tensor_t *y = pt_result(c, x->dtype, index->ndim, index->dims);
    pt_check_apart(c, y, x);
    pt_check_apart(c, y, index);
    pt_along(x, dim, index, y, PT_TAKE, PT_NO_NEGATIVE);
    return MP_OBJ_FROM_PTR(y);
}

mp_obj_t pt_do_index_select(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor, *index = c->args[2].v.tensor;
    const int dim = pt_dim(c, c->args[1].v.i, x->ndim);
    int32_t sizes[PT_MAX_DIMS];
    memcpy(sizes, x->dims, x->ndim * sizeof(int32_t));
    if (x->ndim) {
        sizes[dim] = index->ndim ? index->dims[0] : 1;
    } else if (pt_numel(index) != 1) {
        mp_raise_msg(&mp_type_IndexError, MP_ERROR_TEXT("index_select(): Index to scalar can have only 1 value"));
    }
    pt_tensor_t *ids = pt_index_vector(c, index, x->ndim, dim, sizes);
    if (c->out) {
        pt_check_overlap(c->out, 0, NULL); /* before it gets another shape */
    }
    pt_tensor_t *y = pt_result(c, x->dtype, x->ndim, sizes);
    pt_check_apart(c, y, x);
    pt_check_apart(c, y, index);
    pt_along(x, dim, ids, y, PT_TAKE, PT_IN_SELF);
    return MP_OBJ_FROM_PTR(y);
}

static pt_tensor_t *flat(pt_tensor_t *t)
{
    const int32_t all = pt_numel(t);
    return pt_reshape(t, 1, &all);
}

/* ---- repetition by index ----------------------------------------------------------------------------------------- */

/* repeat_interleave of each element k, repeats[k] times: the indices of that. */
static pt_tensor_t *repeated(pt_tensor_t *repeats, const pt_arg_t *output_size)
{
    int64_t total = 0;
    if (repeats->dtype != PT_INT64 && repeats->dtype != PT_INT32) {
        mp_raise_msg_varg(&mp_type_NotImplementedError,
            MP_ERROR_TEXT("\"repeat_interleave_cpu\" not implemented for '%s'"), pt_dtype_name(repeats->dtype));
    }
    if (repeats->ndim != 1) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("repeat_interleave only accept 1D vector as repeat"));
    }
    const pt_tensor_t *times = pt_contiguous(repeats, PT_INT64);
    const int64_t *n = (const int64_t *)(const void *)times->data;
    for (int32_t k = 0; k < times->dims[0]; k++) {
        if (n[k] < 0) {
            mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("repeats can not be negative"));
        }
        total = n[k] > INT32_MAX - total ? INT32_MAX : total + n[k];
    }
    if (output_size->given && output_size->v.i != total) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("allocated size does not match required size"));
    }
    const int32_t all = (int32_t)total;
    pt_tensor_t *ids = pt_new(PT_INT64, 1, &all);
    int64_t *to = (int64_t *)(void *)ids->data;
    for (int32_t k = 0; k < times->dims[0]; k++) {
        for (int64_t j = 0; j < n[k]; j++) {
            *to++ = k;
        }
    }
    return ids;
}

/* (repeats, output_size). */
mp_obj_t pt_do_repeat_interleave(pt_call_t *c)
{
    pt_tensor_t *repeats = c->args[0].v.tensor, *ids = repeated(repeats, &c->args[1]);
    if (!c->out && repeats->dtype == PT_INT64) {
        return MP_OBJ_FROM_PTR(ids);
    }
    pt_tensor_t *y = pt_result(c, repeats->dtype, 1, ids->dims);
    pt_copy_into(y, ids);
    return MP_OBJ_FROM_PTR(y);
}

/* (self, repeats, dim, output_size); overload->data 1: repeats is an int. */
mp_obj_t pt_do_repeat_interleave_self(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor, *repeats;
    int dim = 0;
    if (c->args[2].given) {
        dim = pt_dim(c, c->args[2].v.i, x->ndim);
        x = x->ndim ? x : flat(x);
    } else {
        x = flat(x);
    }
    if (c->overload->data.number || c->args[1].v.tensor->ndim == 0 || pt_numel(c->args[1].v.tensor) == 1) {
        pt_tensor_t *one = c->overload->data.number ? pt_from_number(mp_obj_new_int_from_ll(c->args[1].v.i), PT_INT64)
            : c->args[1].v.tensor;
        if (c->overload->data.number && c->args[1].v.i < 0) {
            mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("Repeats must be non-negative"));
        }
        const int32_t step = 0;
        repeats = pt_view(one, 1, &x->dims[dim], &step, 0);
    } else {
        repeats = c->args[1].v.tensor;
        if (repeats->ndim == 1 && repeats->dims[0] != x->dims[dim]) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("repeats must have the same size as input along dim, but got repeats.size(0) = %d and "
                              "input.size(%d) = %d"), (int)repeats->dims[0], dim, (int)x->dims[dim]);
        }
    }
    pt_tensor_t *ids = repeated(repeats, &c->args[3]);
    int32_t sizes[PT_MAX_DIMS];
    memcpy(sizes, x->dims, x->ndim * sizeof(int32_t));
    sizes[dim] = ids->dims[0];
    pt_tensor_t *y = pt_new(x->dtype, x->ndim, sizes);
    pt_along(x, dim, pt_index_vector(c, ids, x->ndim, dim, sizes), y, PT_TAKE, PT_IN_SELF);
    return MP_OBJ_FROM_PTR(y);
}
