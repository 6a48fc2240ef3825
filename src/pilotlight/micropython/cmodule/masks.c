/* The indices of elements that are not zero. */
#include "dense.h"

static pt_tensor_t *nonzero(pt_tensor_t *t)
{
    const pt_tensor_t *set = pt_contiguous(t, PT_BOOL);
    const int32_t n = pt_numel(t);
    int32_t sizes[] = {0, t->ndim};
    for (int32_t k = 0; k < n; k++) {
        sizes[0] += set->data[k] != 0;
    }
    pt_tensor_t *y = pt_new(PT_INT64, 2, sizes);
    int64_t *to = (int64_t *)(void *)y->data;
    for (int32_t k = 0; k < n; k++) {
        if (set->data[k]) {
            int32_t rest = k;
            for (int d = t->ndim - 1; d >= 0; d--) {
                to[d] = rest % t->dims[d];
                rest /= t->dims[d];
            }
            to += t->ndim;
        }
        if (!(k & 1023)) {
            pt_poll();
        }
    }
    return y;
}

mp_obj_t pt_do_nonzero(pt_call_t *c) { return pt_finish(c, nonzero(c->args[0].v.tensor), PT_INT64); }

/* where(condition): the indices, dimension by dimension. */
mp_obj_t pt_do_where_true(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    t = t->ndim ? t : pt_unsqueeze(t, 0);
    pt_tensor_t *all = nonzero(t);
    mp_obj_tuple_t *tuple = MP_OBJ_TO_PTR(mp_obj_new_tuple(t->ndim, NULL));
    for (int d = 0; d < t->ndim; d++) {
        tuple->items[d] = MP_OBJ_FROM_PTR(pt_select(all, 1, d));
    }
    return MP_OBJ_FROM_PTR(tuple);
}

/* nonzero(as_tuple=). */
mp_obj_t pt_do_nonzero_as(pt_call_t *c)
{
    if (c->args[1].v.i && c->out) {
        pt_refuse(c, 1);
    }
    return c->args[1].v.i ? pt_do_where_true(c) : pt_do_nonzero(c);
}
