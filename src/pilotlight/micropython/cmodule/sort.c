/* Sorting and the first k. */
#include "lanes.h"

#include "generated/sort_f32.h"
#include "generated/sort_i64.h"

static void sort_lane(pt_lane_t *l)
{
    if (!PT_INTEGERS || l->compute == PT_FLOAT32) {
        pl_sort_f32(l->x, l->x, l->ids, 1, l->n, 1, l->flag);
    } else {
        pl_sort_i64(l->x, l->x, l->ids, 1, l->n, 1, l->flag);
    }
}

/* sort, argsort and topk: overload->data & 1: `stable` comes before (dim, descending), & 2: indices only, & 4: k comes
 * before (dim, largest). */
mp_obj_t pt_do_sort(pt_call_t *c)
{
    static const uint16_t names[2][3] = {
        {MP_QSTR_sort, MP_QSTR_values, MP_QSTR_indices}, {MP_QSTR_topk, MP_QSTR_values, MP_QSTR_indices}};
    const int data = (int)c->overload->data.number, at = data & 5 ? 2 : 1;
    pt_tensor_t *x = pt_unwritten(c, 0), *y = NULL;
    const int dim = pt_dim(c, c->args[at].v.i, x->ndim);
    pt_lane_t l = {.compute = pt_compute(x->dtype), .m = x->ndim ? x->dims[dim] : 1, .flag = c->args[at + 1].v.i != 0};
    int32_t sizes[PT_MAX_DIMS];
    pt_check_compute(c, l.compute);
    memcpy(sizes, x->dims, x->ndim * sizeof(int32_t));
    if (data & 4) {
        const int64_t k = c->args[1].v.i;
        if (x->dtype == PT_BOOL || k < 0 || k > l.m) {
            mp_raise_msg(&mp_type_RuntimeError,
                x->dtype == PT_BOOL ? MP_ERROR_TEXT("topk not implemented for 'Bool'")
                                    : MP_ERROR_TEXT("selected index k out of range"));
        }
        l.m = (int32_t)k;
        if (x->ndim) {
            sizes[dim] = l.m;
        }
    }
    if (!(data & 2)) {
        y = pt_result_at(c, 0, x->dtype, x->ndim, sizes);
    }
    pt_tensor_t *ids = pt_result_at(c, y ? 1 : 0, PT_INT64, x->ndim, sizes);
    if (pt_numel(ids)) {
        pt_lanes(x, dim, &l, sort_lane, y, ids);
    }
    const mp_obj_t both[] = {MP_OBJ_FROM_PTR(y), MP_OBJ_FROM_PTR(ids)};
    return y ? pt_named(names[data >> 2], 2, both) : both[1];
}
