/* Sorting, and what follows from sorted lanes: the first k, medians, modes, quantiles. */
#include "lanes.h"

#include "generated/sort_i64.h"

#include "floor_f32.h"
#include "sort_f32.h"

void pt_lane_sort(pt_lane_t *l)
{
    if (l->compute == PT_FLOAT32) {
        pl_sort_f32(l->x, l->x, l->ids, 1, l->n, 1, l->flag);
    } else {
        pl_sort_i64(l->x, l->x, l->ids, 1, l->n, 1, l->flag);
    }
}

static void not_for_bool(pt_call_t *c)
{
    if (c->args[0].v.tensor->dtype == PT_BOOL) {
        mp_raise_msg_varg(c->op->name == MP_QSTR_topk ? &mp_type_RuntimeError : &mp_type_NotImplementedError,
            MP_ERROR_TEXT("\"%q\" not implemented for 'Bool'"), c->op->name);
    }
}

static mp_obj_t pair(const uint16_t *names, pt_tensor_t *y, pt_tensor_t *ids)
{
    const mp_obj_t both[] = {MP_OBJ_FROM_PTR(y), MP_OBJ_FROM_PTR(ids)};
    return pt_named(names, 2, both);
}

/* ---- sorting ----------------------------------------------------------------------------------------------------- */

/* sort, argsort and msort: overload->data & 1: `stable` stands before (dim, descending), & 2: indices only, & 4: values
 * only, along the first dimension. */
mp_obj_t pt_do_sort(pt_call_t *c)
{
    static const uint16_t names[] = {MP_QSTR_sort, MP_QSTR_values, MP_QSTR_indices};
    const int data = (int)c->overload->data.number, at = data & 1 ? 2 : 1;
    pt_tensor_t *x = c->args[0].v.tensor;
    const int dim = data & 4 ? 0 : pt_dim(c, c->args[at].v.i, x->ndim);
    pt_lane_t l = {.compute = pt_compute(x->dtype), .m = x->ndim ? x->dims[dim] : 1,
                   .flag = !(data & 4) && c->args[at + 1].v.i};
    pt_tensor_t *y = data & 2 ? NULL : pt_result_at(c, 0, x->dtype, x->ndim, x->dims);
    pt_tensor_t *ids = pt_new_like(x, PT_INT64), *result = data & 4 ? NULL : ids;
    if (result && c->out) {
        result = pt_result_at(c, data & 2 ? 0 : 1, PT_INT64, x->ndim, x->dims);
    }
    if (pt_numel(x)) {
        pt_lanes(x, dim, &l, pt_lane_sort, y, result ? result : ids);
    }
    return data & 2 ? MP_OBJ_FROM_PTR(result) : data & 4 ? MP_OBJ_FROM_PTR(y) : pair(names, y, result);
}

/* topk: (self, k, dim, largest, sorted). */
mp_obj_t pt_do_topk(pt_call_t *c)
{
    static const uint16_t names[] = {MP_QSTR_topk, MP_QSTR_values, MP_QSTR_indices};
    pt_tensor_t *x = c->args[0].v.tensor;
    const int dim = pt_dim(c, c->args[2].v.i, x->ndim);
    const int64_t k = c->args[1].v.i;
    int32_t sizes[PT_MAX_DIMS];
    not_for_bool(c);
    if (k < 0 || k > (x->ndim ? x->dims[dim] : 1)) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("selected index k out of range"));
    }
    memcpy(sizes, x->dims, x->ndim * sizeof(int32_t));
    if (x->ndim) {
        sizes[dim] = (int32_t)k;
    }
    pt_lane_t l = {.compute = pt_compute(x->dtype), .m = (int32_t)k, .flag = c->args[3].v.i != 0};
    pt_tensor_t *y = pt_result_at(c, 0, x->dtype, x->ndim, sizes), *ids = pt_result_at(c, 1, PT_INT64, x->ndim, sizes);
    if (pt_numel(y)) {
        pt_lanes(x, dim, &l, pt_lane_sort, y, ids);
    }
    return pair(names, y, ids);
}

/* ---- one of a lane ----------------------------------------------------------------------------------------------- */

static int32_t numbers(const pt_lane_t *l) /* that are no NaN: those come last */
{
    int32_t n = l->n;
    while (l->compute == PT_FLOAT32 && n > 0 && pl_is_nan_f32(((const float *)l->x)[n - 1])) {
        n--;
    }
    return n;
}

static void keep(pt_lane_t *l, int32_t at)
{
    if (l->compute == PT_FLOAT32) {
        ((float *)l->x)[0] = ((const float *)l->x)[at];
    } else {
        ((int64_t *)l->x)[0] = ((const int64_t *)l->x)[at];
    }
    l->ids[0] = l->ids[at];
}

static void kth(pt_lane_t *l)
{
    pt_lane_sort(l);
    keep(l, l->number);
}

/* The lower one of two in the middle; a NaN is the median of what has one, unless `number` says to look past it. */
static void median(pt_lane_t *l)
{
    pt_lane_sort(l);
    const int32_t n = numbers(l);
    keep(l, n < l->n && (!l->number || n == 0) ? n : (n - 1) / 2);
}

/* The most frequent, of equally frequent ones the least, where it stands last. */
static void mode(pt_lane_t *l)
{
    int32_t best = 0, most = 0, run = 0;
    pt_lane_sort(l);
    for (int32_t k = 0; k < l->n; k++) {
        const bool same = k > 0 && (l->compute == PT_FLOAT32 ? ((const float *)l->x)[k] == ((const float *)l->x)[k - 1]
            : ((const int64_t *)l->x)[k] == ((const int64_t *)l->x)[k - 1]);
        run = same ? run + 1 : 1;
        if (run > most) {
            most = run;
            best = k;
        }
    }
    keep(l, best);
}

static mp_obj_t one_of(pt_call_t *c, void (*run)(pt_lane_t *l), int32_t number, int64_t along, bool keepdim,
    const uint16_t *names)
{
    pt_tensor_t *x = c->args[0].v.tensor;
    const int dim = pt_dim(c, along, x->ndim);
    int32_t sizes[PT_MAX_DIMS];
    int ndim = 0;
    for (int d = 0; d < x->ndim; d++) {
        if (d != dim || keepdim) {
            sizes[ndim++] = d == dim ? 1 : x->dims[d];
        }
    }
    pt_lane_t l = {.compute = pt_compute(x->dtype), .m = 1, .number = number};
    pt_tensor_t *y = pt_result_at(c, 0, x->dtype, ndim, sizes), *ids = pt_result_at(c, 1, PT_INT64, ndim, sizes);
    if (x->ndim && x->dims[dim] == 0 && (pt_numel(y) || run == kth)) {
        mp_raise_msg_varg(&mp_type_IndexError, MP_ERROR_TEXT("%q(): Expected reduction dim %d to have non-zero size."),
            c->op->name, dim);
    }
    if (run == kth && (number < 0 || number >= (x->ndim ? x->dims[dim] : 1))) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("kthvalue(): selected number k out of range for dimension %d"), dim);
    }
    if (run != mode) {
        not_for_bool(c);
    }
    if (pt_numel(y)) {
        pt_lanes(x, dim, &l, run, y, ids);
    }
    return pair(names, y, ids);
}

mp_obj_t pt_do_kthvalue(pt_call_t *c)
{
    static const uint16_t names[] = {MP_QSTR_kthvalue, MP_QSTR_values, MP_QSTR_indices};
    const int64_t k = c->args[1].v.i;
    return one_of(c, kth, k < 0 || k > INT32_MAX ? -1 : (int32_t)k - 1, c->args[2].v.i, c->args[3].v.i != 0, names);
}

mp_obj_t pt_do_mode(pt_call_t *c)
{
    static const uint16_t names[] = {MP_QSTR_mode, MP_QSTR_values, MP_QSTR_indices};
    return one_of(c, mode, 0, c->args[1].v.i, c->args[2].v.i != 0, names);
}

/* median (overload->data 0) and nanmedian (1): (self, dim, keepdim). */
mp_obj_t pt_do_median_dim(pt_call_t *c)
{
    static const uint16_t names[2][3] = {{MP_QSTR_median, MP_QSTR_values, MP_QSTR_indices},
                                         {MP_QSTR_nanmedian, MP_QSTR_values, MP_QSTR_indices}};
    const int skip = (int)c->overload->data.number;
    return one_of(c, median, skip, c->args[1].v.i, c->args[2].v.i != 0, names[skip]);
}

mp_obj_t pt_do_median(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor, *y = pt_result(c, x->dtype, 0, NULL);
    const int32_t all = pt_numel(x);
    pt_lane_t l = {.compute = pt_compute(x->dtype), .m = 1, .number = (int32_t)c->overload->data.number};
    not_for_bool(c);
    if (all == 0) {
        pt_fill(y, pt_is_float(x->dtype) ? mp_obj_new_float((mp_float_t)pl_nan()) : MP_OBJ_NEW_SMALL_INT(0));
        return MP_OBJ_FROM_PTR(y);
    }
    pt_lanes(pt_reshape(x, 1, &all), 0, &l, median, y, pt_new(PT_INT64, 0, NULL));
    return MP_OBJ_FROM_PTR(y);
}

/* ---- quantiles --------------------------------------------------------------------------------------------------- */

enum { LINEAR, LOWER, HIGHER, NEAREST, MIDPOINT };

/* `number` is the interpolation, with 8 NaN is looked past; `more` are the quantiles. */
static void quantiles(pt_lane_t *l)
{
    const float *x = l->x;
    pt_lane_sort(l);
    const int32_t n = l->number & 8 ? numbers(l) : l->n;
    const bool nan = n == 0 || pl_is_nan_f32(x[n - 1]);
    for (int32_t k = 0; k < l->m; k++) {
        const float rank = l->more[k] * (float)(n - 1), below = pl_floor_f32(rank);
        const int32_t low = nan ? 0 : (int32_t)below, high = low + 1 < n && rank > below ? low + 1 : low;
        float part = rank - below;
        switch (l->number & 7) {
            case LOWER:
                part = 0.0f;
                break;
            case HIGHER:
                part = 1.0f;
                break;
            case MIDPOINT:
                part = 0.5f;
                break;
            case NEAREST: /* halves to even */
                part = part > 0.5f || (part == 0.5f && (low & 1)) ? 1.0f : 0.0f;
                break;
        }
        ((float *)l->y)[k] = nan ? pl_nan() : part < 0.5f ? x[low] + part * (x[high] - x[low])
            : x[high] - (1.0f - part) * (x[high] - x[low]);
    }
}

/* (self, q, dim, keepdim, interpolation); overload->data & 1: q is a tensor, & 8: nanquantile. */
mp_obj_t pt_do_quantile(pt_call_t *c)
{
    static const char *const ways[] = {"linear", "lower", "higher", "nearest", "midpoint"};
    const int data = (int)c->overload->data.number;
    pt_tensor_t *x = c->args[0].v.tensor;
    pt_tensor_t *q = data & 1 ? pt_contiguous(c->args[1].v.tensor, PT_FLOAT32)
        : pt_from_number(mp_obj_new_float(c->args[1].v.f), PT_FLOAT32);
    const char *way = c->args[4].given ? mp_obj_str_get_str(c->args[4].object) : ways[0];
    int interpolation = 0;
    while (interpolation < (int)MP_ARRAY_SIZE(ways) && strcmp(way, ways[interpolation]) != 0) {
        interpolation++;
    }
    if (interpolation == (int)MP_ARRAY_SIZE(ways)) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("%q() interpolation must be one of linear, lower, higher, midpoint or nearest, but got %s"),
            c->op->name, way);
    }
    if (pt_numel(x) == 0 || q->ndim > 1 || x->dtype != PT_FLOAT32
        || (data & 1 && c->args[1].v.tensor->dtype != PT_FLOAT32)) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("%q() %s"), c->op->name,
            pt_numel(x) == 0 ? "input tensor must be non-empty" : q->ndim > 1 ? "q must be a scalar or 1D tensor"
            : x->dtype != PT_FLOAT32 ? "input tensor must be either float or double dtype"
            : "q tensor must be same dtype as the input tensor");
    }
    const int32_t count = pt_numel(q), all = pt_numel(x);
    for (int32_t k = 0; k < count; k++) {
        const float v = ((const float *)(const void *)q->data)[k];
        if (!(v >= 0.0f && v <= 1.0f)) {
            mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("%q() q must be in the range [0, 1]"), c->op->name);
        }
    }
    const int original = x->ndim;
    int dim = 0;
    if (c->args[2].given) {
        dim = pt_dim(c, c->args[2].v.i, x->ndim);
        x = x->ndim ? x : pt_unsqueeze(x, 0);
    } else {
        x = pt_reshape(x, 1, &all);
    }
    /* computed with the quantiles along `dim`, they go in front at the end */
    int32_t sizes[PT_MAX_DIMS], order[PT_MAX_DIMS];
    memcpy(sizes, x->dims, x->ndim * sizeof(int32_t));
    sizes[dim] = count;
    pt_tensor_t *lanes = pt_new(PT_FLOAT32, x->ndim, sizes);
    pt_lane_t l = {.compute = PT_FLOAT32, .m = count, .number = interpolation | (data & 8), .apart = true,
                   .more = (const float *)(const void *)q->data};
    if (count) {
        pt_lanes(x, dim, &l, quantiles, lanes, NULL);
    }
    for (int d = 0; d < x->ndim; d++) {
        order[d] = d == 0 ? dim : d <= dim ? d - 1 : d;
    }
    pt_tensor_t *v = pt_permute(lanes, order);
    if (c->args[3].v.i) {
        for (int d = 0; d < original && !c->args[2].given; d++) {
            v = pt_unsqueeze(v, 1);
        }
        v = c->args[2].given && original ? pt_unsqueeze(v, dim + 1) : v;
    }
    v = q->ndim == 0 ? pt_select(v, 0, 0) : v;
    pt_tensor_t *y = pt_result(c, PT_FLOAT32, v->ndim, v->dims);
    pt_copy_into(y, v);
    return MP_OBJ_FROM_PTR(y);
}
