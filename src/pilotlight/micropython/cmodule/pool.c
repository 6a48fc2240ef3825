/* Pooling, plane by plane; integers go through Python. */
#include "window.h"

#include "generated/avg_pool3d_f32.h"
#include "generated/max_pool3d_f32.h"

static const int32_t ones[3] = {1, 1, 1}, zeros[3] = {0, 0, 0};

enum { RANK = 3, AVERAGE = 4, ADAPTIVE = 8, INDICES = 16 }; /* overload->data */

typedef struct {
    pl_volume_t s;
    int rank, number;
    bool batched;
} pool_t;

/* PyTorch's size of an output; with `ceil` the last window may reach beyond the padding, but has to start before. */
static int32_t output_size(pl_volume_t *s, int d, bool ceil)
{
    const int32_t in = pt_sizes_in(s)[d], k = pt_kernel(s)[d], step = pt_stride(s)[d], p = pt_padding(s)[d];
    const int64_t reach = (int64_t)pt_dilation(s)[d] * (k - 1) + 1, last = (int64_t)in + 2 * (int64_t)p - reach;
    const int64_t room = last + (ceil ? step - 1 : 0);
    const int64_t out = room < 0 ? -((step - 1 - room) / step) + 1 : room / step + 1;
    return (int32_t)(ceil && (out - 1) * step >= (int64_t)in + p ? out - 1 : out);
}

/* max: (self, kernel, stride, padding, dilation, ceil); avg: (self, kernel, stride, padding, ceil, count padding,
 * divisor); adaptive: (self, output size). */
static void shape(pt_call_t *c, pool_t *v)
{
    pt_arg_t *a = c->args;
    pl_volume_t *s = &v->s;
    v->number = (int)c->overload->data.number;
    v->rank = v->number & RANK;
    v->batched = pt_volume(c, s, v->rank);
    memcpy(pt_dilation(s), ones, sizeof(ones));
    if (v->number & ADAPTIVE) {
        if (a[1].count != v->rank) {
            pt_refuse(c, 1);
        }
        pt_triple(c, 1, pt_sizes_out(s), v->rank, ones, 1, 0);
        memset(pt_stride(s), 0, sizeof(zeros)); /* how the kernels know */
    } else {
        const bool average = v->number & AVERAGE;
        pt_triple(c, 1, pt_kernel(s), v->rank, ones, 1, 1);
        pt_triple(c, 2, pt_stride(s), v->rank, pt_kernel(s), 1, 1);
        pt_triple(c, 3, pt_padding(s), v->rank, zeros, 0, 0);
        if (!average) {
            pt_triple(c, 4, pt_dilation(s), v->rank, ones, 1, 1);
        }
        for (int d = 0; d < 3; d++) {
            pt_sizes_out(s)[d] = output_size(s, d, a[average ? 4 : 5].v.i);
            if (pt_sizes_out(s)[d] <= 0 || pt_padding(s)[d] > pt_kernel(s)[d] / 2) {
                pt_refuse(c, 1);
            }
        }
        if (average) {
            s->count_padding = (int32_t)a[5].v.i;
            const bool divided = v->rank > 1 && a[6].given;
            s->divisor = divided ? (int32_t)a[6].v.i : 0;
            if (divided && s->divisor == 0) {
                pt_refuse(c, 6);
            }
        }
    }
    if (s->c * s->id * s->ih * s->iw == 0) {
        pt_refuse(c, 0);
    }
}

/* Which integer types a pooling takes follows PyTorch. */
static void check_type(pt_call_t *c, const pool_t *v, int dtype)
{
    const bool fits = pt_is_float(dtype)
        || (v->number & ADAPTIVE      ? false
                : v->number & AVERAGE ? dtype == PT_INT64
                                      : dtype != PT_BOOL);
    if (!fits) {
        pt_no_type(c, dtype);
    }
}

static pl_volume_t one_plane(const pl_volume_t *s)
{
    pl_volume_t plane = *s;
    plane.n = plane.c = 1;
    return plane;
}

mp_obj_t pt_avg_pool(pt_call_t *c)
{
    pool_t v = {.s = {.count_padding = 0}};
    shape(c, &v);
    const int dtype = c->args[0].v.tensor->dtype, compute = pt_compute(dtype);
    check_type(c, &v, dtype);
    pt_tensor_t *y = pt_volume_new(&v.s, compute, v.s.c, v.rank, v.batched);
    const pl_volume_t plane = one_plane(&v.s);
    const int32_t in = v.s.id * v.s.ih * v.s.iw, out = v.s.od * v.s.oh * v.s.ow;
    if (compute != PT_FLOAT32) {
        y = pt_reshape(pt_tensor(pt_integers(c, MP_QSTR__for_avg_pool, &v.s, 1, &c->args[0].object)), y->ndim, y->dims);
        return pt_finish(c, y, dtype);
    }
    const float *x = pt_floats(c, 0);
    for (int32_t p = 0; p < v.s.n * v.s.c; p++) {
        pl_avg_pool3d_f32(&plane, x + p * in, (float *)y->data + p * out);
        pt_poll();
    }
    return pt_finish(c, y, dtype);
}

mp_obj_t pt_max_pool(pt_call_t *c)
{
    pool_t v = {.s = {.count_padding = 0}};
    shape(c, &v);
    const int dtype = c->args[0].v.tensor->dtype, compute = pt_compute(dtype);
    const bool indices = v.number & INDICES;
    check_type(c, &v, dtype);
    pt_tensor_t *y = pt_volume_new(&v.s, compute, v.s.c, v.rank, v.batched);
    const pl_volume_t plane = one_plane(&v.s);
    const int32_t in = v.s.id * v.s.ih * v.s.iw, out = v.s.od * v.s.oh * v.s.ow;
    pt_tensor_t *ids = indices ? pt_new_like(y, PT_INT64) : pt_new(PT_INT64, 1, &out);
    if (compute == PT_FLOAT32) {
        const float *x = pt_floats(c, 0);
        for (int32_t p = 0; p < v.s.n * v.s.c; p++) {
            pl_max_pool3d_f32(
                &plane, x + p * in, (float *)y->data + p * out, (int64_t *)ids->data + (indices ? p * out : 0));
            pt_poll();
        }
        pt_keep(ids);
    } else {
        size_t count;
        mp_obj_t *pair;
        mp_obj_get_array(pt_integers(c, MP_QSTR__for_max_pool, &v.s, 1, &c->args[0].object), &count, &pair);
        ids = pt_reshape(pt_tensor(pair[1]), y->ndim, y->dims);
        y = pt_reshape(pt_tensor(pair[0]), y->ndim, y->dims);
    }
    const mp_obj_t result = pt_finish(c, y, dtype);
    if (indices && c->out) {
        pt_tensor_t *to = pt_result_at(c, 1, PT_INT64, ids->ndim, ids->dims);
        pt_copy_into(to, ids);
        ids = to;
    }
    return indices ? pt_pair(pt_tensor(result), ids) : result;
}
