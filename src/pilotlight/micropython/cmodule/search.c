/* Places in sorted sequences, members of sets, differences between neighbours. */
#include "gather.h"
#include "lanes.h"

#include "generated/rows.h"
#include "generated/search_i64.h"

#include "search_f32.h"

/* ---- places ------------------------------------------------------------------------------------------------------ */

static mp_obj_t places(pt_call_t *c, pt_tensor_t *sorted, pt_tensor_t *values, bool right, bool narrow)
{
    const int compute = pt_is_float(sorted->dtype) || pt_is_float(values->dtype) ? PT_FLOAT32 : PT_INT64;
    const int32_t size = sorted->ndim ? sorted->dims[sorted->ndim - 1] : 1;
    bool fits = sorted->ndim <= 1 || sorted->ndim == values->ndim;
    for (int d = 0; fits && sorted->ndim > 1 && d < sorted->ndim - 1; d++) {
        fits = sorted->dims[d] == values->dims[d];
    }
    if (!fits || sorted->ndim == 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("torch.searchsorted(): boundaries tensor %s and input value tensor %s must match"),
            pt_shape_text(sorted->ndim, sorted->dims), pt_shape_text(values->ndim, values->dims));
    }
    pt_tensor_t *y = pt_result(c, narrow ? PT_INT32 : PT_INT64, values->ndim, values->dims);
    if (pt_numel(values) == 0) {
        return MP_OBJ_FROM_PTR(y);
    }
    const int32_t outer = sorted->ndim > 1 && size ? pt_numel(sorted) / size : 1, count = pt_numel(values) / outer;
    pt_tensor_t *rows = pt_contiguous(sorted, compute), *v = pt_contiguous(values, compute);
    pt_tensor_t *ids = pt_new_like(values, PT_INT64);
    int64_t *to = (int64_t *)(void *)ids->data;
    const void *from = rows->data, *wanted = v->data;
    if (compute == PT_FLOAT32) {
        pl_search_f32(from, wanted, to, outer, size, size, count, right);
    } else {
        pl_search_i64(from, wanted, to, outer, size, size, count, right);
    }
    pt_copy_into(y, ids);
    return MP_OBJ_FROM_PTR(y);
}

static pt_tensor_t *tensor_of(const pt_arg_t *arg)
{
    return pt_is_tensor(arg->object) ? arg->v.tensor : pt_from_number(arg->object, pt_number_dtype(arg->object));
}

/* searchsorted: (sorted_sequence, self, out_int32, right, side, sorter). */
mp_obj_t pt_do_searchsorted(pt_call_t *c)
{
    pt_tensor_t *sorted = c->args[0].v.tensor;
    bool right = c->args[3].v.i != 0;
    if (c->args[4].given) {
        const char *side = mp_obj_str_get_str(c->args[4].object);
        if (strcmp(side, "left") != 0 && strcmp(side, "right") != 0) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("torch.searchsorted(): side can only be 'left' or 'right' but got %s"), side);
        }
        if (right && side[0] == 'l') {
            mp_raise_msg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("torch.searchsorted(): side and right can't be set to opposites"));
        }
        right = side[0] == 'r';
    }
    if (c->args[5].given) {
        pt_tensor_t *sorter = c->args[5].v.tensor, *in_order = pt_new_like(sorted, sorted->dtype);
        if (sorter->dtype != PT_INT64 || sorter->ndim != sorted->ndim
            || memcmp(sorter->dims, sorted->dims, sorted->ndim * sizeof(int32_t)) != 0) {
            mp_raise_msg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("torch.searchsorted(): boundary and sorter must have the same size, as long"));
        }
        pt_along(sorted, sorted->ndim ? sorted->ndim - 1 : 0, sorter, in_order, PT_TAKE, PT_NO_NEGATIVE);
        sorted = in_order;
    }
    return places(c, sorted, tensor_of(&c->args[1]), right, c->args[2].v.i != 0);
}

/* bucketize: (self, boundaries, out_int32, right). */
mp_obj_t pt_do_bucketize(pt_call_t *c)
{
    pt_tensor_t *boundaries = c->args[1].v.tensor;
    if (boundaries->ndim != 1) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("boundaries tensor must be 1 dimension, but got dim(%d)"), (int)boundaries->ndim);
    }
    return places(c, boundaries, tensor_of(&c->args[0]), c->args[3].v.i != 0, c->args[2].v.i != 0);
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

/* isin: (elements, test_elements, assume_unique, invert): each element is compared with all. */
mp_obj_t pt_do_isin(pt_call_t *c)
{
    pt_tensor_t *x = tensor_of(&c->args[0]), *set = tensor_of(&c->args[1]);
    const int compute = pt_is_float(x->dtype) || pt_is_float(set->dtype) ? PT_FLOAT32 : PT_INT64;
    pt_tensor_t *y = pt_result(c, PT_BOOL, x->ndim, x->dims);
    const int32_t n = pt_numel(x), m = pt_numel(set);
    const void *a = pt_contiguous(x, compute)->data, *b = pt_contiguous(set, compute)->data;
    pt_tensor_t *found = pt_new_like(x, PT_BOOL);
    for (int32_t k = 0; k < n; k++) {
        bool in = false;
        for (int32_t j = 0; j < m && !in; j++) {
            in = compute == PT_FLOAT32 ? ((const float *)a)[k] == ((const float *)b)[j]
                : ((const int64_t *)a)[k] == ((const int64_t *)b)[j];
        }
        found->data[k] = in != (c->args[3].v.i != 0);
        pt_poll();
    }
    pt_copy_into(y, found);
    return MP_OBJ_FROM_PTR(y);
}

static bool differ(const pt_lane_t *l, int32_t k)
{
    return l->compute == PT_FLOAT32 ? ((const float *)l->x)[k] != ((const float *)l->x)[k - 1]
        : ((const int64_t *)l->x)[k] != ((const int64_t *)l->x)[k - 1];
}

/* unique and unique_consecutive (overload->data 1): (self, [sorted,] return_inverse, return_counts, dim). */
mp_obj_t pt_do_unique(pt_call_t *c)
{
    const bool neighbours = c->overload->data.number == 1;
    const int at = neighbours ? 1 : 2;
    pt_tensor_t *x = c->args[0].v.tensor;
    const int32_t n = pt_numel(x);
    if (c->args[at + 2].given) {
        mp_raise_msg_varg(&mp_type_NotImplementedError,
            MP_ERROR_TEXT("%q(): argument 'dim' must be None"), c->op->name);
    }
    pt_lane_t l = {.compute = pt_compute(x->dtype), .n = n};
    pt_tensor_t *values = pt_new(l.compute, 1, &n), *ids = pt_new(PT_INT64, 1, &n), *inverse = pt_new_like(x, PT_INT64);
    pt_copy_into(values, pt_reshape(x, 1, &n));
    l.x = values->data;
    l.ids = (int64_t *)(void *)ids->data;
    if (!neighbours) {
        pt_lane_sort(&l);
    }
    int32_t groups = 0;
    for (int32_t k = 0; k < n; k++) { /* the first of each group moves to the front, ids become sizes */
        const int32_t from = neighbours ? k : (int32_t)l.ids[k];
        groups += k == 0 || differ(&l, k);
        ((int64_t *)(void *)inverse->data)[from] = groups - 1;
    }
    pt_tensor_t *sizes = pt_new(PT_INT64, 1, &groups), *y = pt_new(x->dtype, 1, &groups);
    for (int32_t k = 0, g = -1; k < n; k++) {
        if (k == 0 || differ(&l, k)) {
            g++;
            pt_copy_into(pt_slice(y, 0, g, 1, 1), pt_slice(values, 0, k, 1, 1));
            ((int64_t *)(void *)sizes->data)[g] = 0;
        }
        ((int64_t *)(void *)sizes->data)[g]++;
    }
    mp_obj_t all[3] = {MP_OBJ_FROM_PTR(y)};
    size_t count = 1;
    if (c->args[at].v.i) {
        all[count++] = MP_OBJ_FROM_PTR(inverse);
    }
    if (c->args[at + 1].v.i) {
        all[count++] = MP_OBJ_FROM_PTR(sizes);
    }
    return count == 1 ? all[0] : mp_obj_new_tuple(count, all);
}

/* ---- differences ------------------------------------------------------------------------------------------------- */

/* diff: (self, n, dim, prepend, append). */
mp_obj_t pt_do_diff(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor;
    if (x->ndim == 0) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("diff expects input to be at least one-dimensional"));
    }
    const int dim = pt_dim(c, c->args[2].v.i, x->ndim);
    if (c->args[1].v.i < 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("order must be non-negative but got %d"),
            (int)c->args[1].v.i);
    }
    if (c->args[1].v.i > 0 && (c->args[3].given || c->args[4].given)) {
        pt_tensor_t *before = c->args[3].given ? c->args[3].v.tensor : NULL;
        pt_tensor_t *behind = c->args[4].given ? c->args[4].v.tensor : NULL, *parts[3] = {before, x, behind};
        int32_t sizes[PT_MAX_DIMS], start = 0;
        int dtype = x->dtype;
        memcpy(sizes, x->dims, x->ndim * sizeof(int32_t));
        sizes[dim] = 0;
        for (int k = 0; k < 3; k++) {
            for (int d = 0; parts[k] && d < x->ndim; d++) {
                if (parts[k]->ndim != x->ndim || (d != dim && parts[k]->dims[d] != x->dims[d])) {
                    mp_raise_msg(&mp_type_RuntimeError,
                        MP_ERROR_TEXT("diff expects prepend or append to be the same dimension as input"));
                }
            }
            sizes[dim] += parts[k] ? parts[k]->dims[dim] : 0;
            dtype = parts[k] ? pt_promote(dtype, parts[k]->dtype) : dtype;
        }
        pt_tensor_t *all = pt_new(dtype, x->ndim, sizes);
        for (int k = 0; k < 3; k++) {
            if (parts[k]) {
                pt_copy_into(pt_slice(all, dim, start, parts[k]->dims[dim], 1), parts[k]);
                start += parts[k]->dims[dim];
            }
        }
        x = all;
    }
    for (int64_t k = 0; k < c->args[1].v.i && x->dims[dim] > 0; k++) {
        const int32_t n = x->dims[dim] - 1;
        pt_tensor_t *const operands[] = {pt_slice(x, dim, 1, n, 1), pt_slice(x, dim, 0, n, 1)};
        x = pt_apply(x->dtype == PT_BOOL ? &pt_row_logical_xor : &pt_row_sub, 2, operands, NULL);
    }
    pt_tensor_t *y = pt_result(c, x->dtype, x->ndim, x->dims);
    pt_copy_into(y, x);
    return MP_OBJ_FROM_PTR(y);
}
