/* Walking lanes; running sums and products. */
#include "lanes.h"

#include "generated/cumprod_f32.h"
#include "generated/cumprod_i64.h"

#include "cumsum_f32.h"
#include "cumsum_i64.h"

static pt_tensor_t *start_of_lanes(pt_tensor_t *t, int ndim, int dim)
{
    return pt_select(t->ndim < ndim ? pt_unsqueeze(t, dim) : t, dim, 0);
}

void pt_lanes(pt_tensor_t *x, int dim, pt_lane_t *l, void (*run)(pt_lane_t *l), pt_tensor_t *y, pt_tensor_t *ids)
{
    const size_t width = l->compute == PT_FLOAT32 ? sizeof(float) : sizeof(int64_t);
    pt_tensor_t *outs[] = {y, ids}, *operands[3];
    int32_t steps[3];
    int count = 1;
    x = x->ndim ? x : pt_unsqueeze(x, 0);
    l->n = x->dims[dim];
    const size_t room = (size_t)(l->n > l->m ? l->n : l->m) + 1;
    l->x = m_malloc(room * width);
    l->ids = ids ? m_malloc(room * sizeof(int64_t)) : NULL;
    operands[0] = start_of_lanes(x, x->ndim, dim);
    steps[0] = pt_strides(x)[dim];
    for (int k = 0; k < 2; k++) {
        if (outs[k]) {
            pt_tensor_t *wide = outs[k]->ndim < x->ndim ? pt_unsqueeze(outs[k], dim) : outs[k];
            steps[count] = pt_strides(wide)[dim];
            operands[count++] = start_of_lanes(wide, x->ndim, dim);
        }
    }
    pt_walk_t w;
    pt_walk(&w, count, operands);
    while (pt_next(&w)) {
        for (int32_t at = 0; at < w.run; at++) {
            uint8_t *data[3];
            for (int k = 0; k < count; k++) {
                data[k] = w.data[k] + (ptrdiff_t)at * w.steps[k][w.ndim - 1] * w.width[k];
            }
            pt_load(data[0], x->dtype, steps[0], l->compute, l->x, l->n);
            run(l);
            if (y) {
                pt_store(data[1], y->dtype, steps[1], l->compute, l->x, l->m);
            }
            if (ids) {
                pt_store(data[count - 1], ids->dtype, steps[count - 1], PT_INT64, l->ids, l->m);
            }
            pt_poll();
        }
    }
    m_del(uint8_t, l->x, room *width);
    if (l->ids) {
        m_del(int64_t, l->ids, room);
    }
}

/* ---- scans ------------------------------------------------------------------------------------------------------- */

static void cumsum(pt_lane_t *l)
{
    if (!PT_INTEGERS || l->compute == PT_FLOAT32) {
        pl_cumsum_f32(l->x, l->x, 1, l->n, 1);
    } else {
        pl_cumsum_i64(l->x, l->x, 1, l->n, 1);
    }
}

static void cumprod(pt_lane_t *l)
{
    if (!PT_INTEGERS || l->compute == PT_FLOAT32) {
        pl_cumprod_f32(l->x, l->x, 1, l->n, 1);
    } else {
        pl_cumprod_i64(l->x, l->x, 1, l->n, 1);
    }
}

static mp_obj_t scanned(pt_call_t *c, void (*run)(pt_lane_t *l), int dtype)
{
    pt_tensor_t *x = c->args[0].v.tensor;
    const int dim = pt_dim(c, c->args[1].v.i, x->ndim);
    pt_lane_t l = {.compute = pt_compute(dtype), .m = x->ndim ? x->dims[dim] : 1};
    pt_check_compute(c, l.compute);
    pt_tensor_t *y = pt_result(c, dtype, x->ndim, x->dims);
    if (pt_numel(x)) {
        pt_lanes(x, dim, &l, run, y, NULL);
    }
    return MP_OBJ_FROM_PTR(y);
}

/* Integers are added up and multiplied as int64, unless a dtype is asked for; in place they keep their own. */
static int sum_type(pt_call_t *c)
{
    const int own = c->args[0].v.tensor->dtype;
    return c->args[2].given ? c->args[2].v.dtype : c->out ? c->out->dtype : pt_is_float(own) ? own : PT_INT64;
}

mp_obj_t pt_do_cumsum(pt_call_t *c) { return scanned(c, cumsum, sum_type(c)); }

mp_obj_t pt_do_cumprod(pt_call_t *c) { return scanned(c, cumprod, sum_type(c)); }
