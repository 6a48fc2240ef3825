/* gather and index_select: elements picked by indices; and the walk that putting them shares. */
#include "gather.h"

#include "number_f32.h"

static int32_t place(int64_t index, int dim, int32_t size, bool in_self)
{
    if (index < 0 || index >= size) {
        if (in_self) {
            mp_raise_msg(&mp_type_IndexError, MP_ERROR_TEXT("index out of range in self"));
        }
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("index %d is out of bounds for dimension %d with size %d"), (int)index, dim, (int)size);
    }
    return (int32_t)index;
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
            a->i[k] = (int64_t)(action == PT_ADD ? x + y
                    : action == PT_MULTIPLY      ? x * y
                    : action == PT_PUT || other  ? y
                                                 : x);
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

void pt_along(pt_tensor_t *full, int dim, pt_tensor_t *index, pt_tensor_t *other, int action, bool in_self)
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
        if (si == 0 && (sf != 0 || action <= PT_PUT)) { /* one index for the run, but not sums in one place */
            pt_load(w.data[0], index->dtype, 0, PT_INT64, &ids, 1);
            meet(full, w.data[2] + (ptrdiff_t)place(ids.i[0], dim, size, in_self) * stride * width, sf, other,
                w.data[1], so, action, w.run);
            pt_poll();
            continue;
        }
        for (int32_t at = 0; at < w.run; at += PT_CHUNK) {
            const int n = w.run - at < PT_CHUNK ? (int)(w.run - at) : PT_CHUNK;
            pt_load(w.data[0] + (ptrdiff_t)at * si * w.width[0], index->dtype, si, PT_INT64, &ids, n);
            for (int k = 0; k < n; k++) {
                const ptrdiff_t from = (ptrdiff_t)(at + k) * sf + place(ids.i[k], dim, size, in_self) * stride;
                uint8_t *with = w.data[1] + (ptrdiff_t)(at + k) * so * w.width[1];
                meet(full, w.data[2] + from * width, 1, other, with, 1, action, 1);
            }
            pt_poll();
        }
    }
}

void pt_index_type(pt_call_t *c, const pt_tensor_t *index)
{
    if (index->dtype != PT_INT64 && index->dtype != PT_INT32 && pt_numel(index)) {
        mp_raise_msg_varg(
            &mp_type_RuntimeError, MP_ERROR_TEXT("%q(): Expected dtype int32/int64 for index"), c->op->name);
    }
}

pt_tensor_t *pt_index_vector(pt_call_t *c, pt_tensor_t *index, int ndim, int dim, const int32_t *sizes)
{
    int32_t strides[PT_MAX_DIMS] = {0};
    if (index->ndim > 1) {
        mp_raise_msg_varg(&mp_type_IndexError, MP_ERROR_TEXT("%q(): Index is supposed to be a vector"), c->op->name);
    }
    pt_index_type(c, index);
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
    pt_index_type(c, index);
    bool fits = (x->ndim ? x->ndim : 1) == (index->ndim ? index->ndim : 1);
    for (int d = 0; fits && d < x->ndim && d < index->ndim; d++) {
        fits = d == dim || index->dims[d] <= x->dims[d];
    }
    if (!fits && pt_numel(index)) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("%q(): Expected index %s to be no larger than self %s apart from dimension %d"), c->op->name,
            pt_shape_text(index->ndim, index->dims), pt_shape_text(x->ndim, x->dims), dim);
    }
    pt_tensor_t *y = pt_result(c, x->dtype, index->ndim, index->dims);
    pt_check_apart(c, y, x);
    pt_check_apart(c, y, index);
    pt_along(x, dim, index, y, PT_TAKE, false);
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
        pt_check_itself(c->out); /* before it gets another shape */
    }
    pt_tensor_t *y = pt_result(c, x->dtype, x->ndim, sizes);
    pt_check_apart(c, y, x);
    pt_check_apart(c, y, index);
    pt_along(x, dim, ids, y, PT_TAKE, true);
    return MP_OBJ_FROM_PTR(y);
}
