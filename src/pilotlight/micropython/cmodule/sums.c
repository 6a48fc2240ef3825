/* Sums, products, extremes, truth: reductions to one number a lane. */
#include "reduce.h"

#include "number_f32.h"
#include "sum_f32.h"

/* How an overload says what to reduce (the lower bits of its data): nothing, a list or an int behind self; keepdim and
 * dtype follow. */
enum { ALL, DIMS, DIM, KIND = 3 };

typedef struct {
    pt_plan_t plan;
    const pt_arg_t *dtype; /* NULL: the operator has none */
    bool by_dim;
} request_t;

static void request(pt_call_t *c, request_t *r, bool has_dtype)
{
    pt_tensor_t *x = c->args[0].v.tensor;
    const int kind = (int)(c->overload->data.number & KIND);
    uint32_t bits = 0;
    r->by_dim = kind != ALL && c->args[1].given && (kind == DIM || c->args[1].count);
    if (r->by_dim) {
        bits = kind == DIM ? 1u << pt_dim(c, c->args[1].v.i, x->ndim) : pt_dims(c, &c->args[1], x->ndim);
    }
    r->dtype = !has_dtype ? NULL : &c->args[kind == ALL ? 1 : 3];
    pt_plan(&r->plan, x, r->by_dim ? bits : ~0u, kind != ALL && c->args[2].v.i);
}

static mp_obj_t reduced(pt_call_t *c, const request_t *r, const pt_rule_t *rule, int compute, int dtype)
{
    const pt_fold_t first = {0};
    pt_tensor_t *y = pt_result(c, dtype, r->plan.ndim, r->plan.sizes);
    pt_reduce(&r->plan, rule, &first, compute, 1, &y);
    return MP_OBJ_FROM_PTR(y);
}

/* ---- sums and products ---------------------------------------------------------------------------------------- */

void pt_fold_sum_f32(pt_fold_t *s, const float *x, int n)
{
    s->part += pl_sum_f32(x, n, 1);
    if (++s->parts == 32) { /* as the kernel itself adds up its blocks */
        pt_fold_sum_end(s);
        s->parts = 0;
    }
}

void pt_fold_sum_end(pt_fold_t *s)
{
    s->f += s->part;
    s->part = 0.0f;
}

static void sum_i64(pt_fold_t *s, const int64_t *x, int n)
{
    for (int k = 0; k < n; k++) {
        s->i = (int64_t)((uint64_t)s->i + (uint64_t)x[k]);
    }
}

static const pt_rule_t sum_rule = {pt_fold_sum_f32, sum_i64, pt_fold_sum_end, {PT_VALUE}};

/* Integers are added up as int64, unless a dtype is asked for. */
static int sum_dtype(pt_call_t *c, const request_t *r)
{
    if (r->dtype->given) {
        return r->dtype->v.dtype;
    }
    return c->out ? c->out->dtype : pt_is_float(r->plan.x->dtype) ? r->plan.x->dtype : PT_INT64;
}

mp_obj_t pt_do_sum(pt_call_t *c)
{
    request_t r;
    request(c, &r, true);
    const int dtype = sum_dtype(c, &r);
    return reduced(c, &r, &sum_rule, pt_compute(dtype), dtype);
}

static void mean_end(pt_fold_t *s)
{
    pt_fold_sum_end(s);
    s->f /= (float)s->seen;
}

static const pt_rule_t mean_rule = {pt_fold_sum_f32, NULL, mean_end, {PT_VALUE}};
static mp_obj_t mean(pt_call_t *c, const pt_rule_t *rule)
{
    request_t r;
    request(c, &r, true);
    const int dtype = r.dtype->given ? r.dtype->v.dtype : r.plan.x->dtype;
    if (!pt_is_float(dtype)) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("%q(): could not infer output dtype. Input dtype must be either a floating point or complex "
                          "dtype. Got: %s"), c->op->name, pt_dtype_name(dtype));
    }
    return reduced(c, &r, rule, PT_FLOAT32, dtype);
}

mp_obj_t pt_do_mean(pt_call_t *c) { return mean(c, &mean_rule); }

static void prod_f32(pt_fold_t *s, const float *x, int n)
{
    float product = s->seen ? s->f : 1.0f;
    for (int k = 0; k < n; k++) {
        product = pl_mul_f32(product, x[k]);
    }
    s->f = product;
}

static void prod_i64(pt_fold_t *s, const int64_t *x, int n)
{
    uint64_t product = s->seen ? (uint64_t)s->i : 1u;
    for (int k = 0; k < n; k++) {
        product *= (uint64_t)x[k];
    }
    s->i = (int64_t)product;
}

static void prod_end(pt_fold_t *s)
{
    if (!s->seen) {
        s->f = 1.0f;
        s->i = 1;
    }
}

static const pt_rule_t prod_rule = {prod_f32, prod_i64, prod_end, {PT_VALUE}};

mp_obj_t pt_do_prod(pt_call_t *c)
{
    request_t r;
    request(c, &r, true);
    const int dtype = sum_dtype(c, &r);
    return reduced(c, &r, &prod_rule, pt_compute(dtype), dtype);
}

/* ---- truth ------------------------------------------------------------------------------------------------------- */

static void count_f32(pt_fold_t *s, const float *x, int n)
{
    for (int k = 0; k < n; k++) {
        s->i += x[k] != 0.0f;
    }
}

static void count_i64(pt_fold_t *s, const int64_t *x, int n)
{
    for (int k = 0; k < n; k++) {
        s->i += x[k] != 0;
    }
}

static void any_end(pt_fold_t *s) { s->i = s->i != 0; }

static void all_end(pt_fold_t *s) { s->i = s->i == s->seen; }

static const pt_rule_t any_rule = {count_f32, count_i64, any_end, {PT_INTEGER}};
static const pt_rule_t all_rule = {count_f32, count_i64, all_end, {PT_INTEGER}};

/* any and all: an empty list of dimensions reduces nothing, and uint8 stays uint8. */
static mp_obj_t truth(pt_call_t *c, const pt_rule_t *rule)
{
    request_t r;
    const pt_arg_t *dims = &c->args[1];
    const int x = c->args[0].v.tensor->dtype;
    request(c, &r, false);
    if ((c->overload->data.number & KIND) == DIMS && dims->given && dims->count == 0) {
        pt_plan(&r.plan, c->args[0].v.tensor, 0, true);
    }
    return reduced(c, &r, rule, pt_compute(x), x == PT_UINT8 ? PT_UINT8 : PT_BOOL);
}

mp_obj_t pt_do_any(pt_call_t *c) { return truth(c, &any_rule); }

mp_obj_t pt_do_all(pt_call_t *c) { return truth(c, &all_rule); }

/* ---- extremes ---------------------------------------------------------------------------------------------------- */

/* The largest and where it stands first; the first NaN stays. */
static void max_f32(pt_fold_t *s, const float *x, int n)
{
    int k = s->seen ? 0 : 1;
    float best = s->seen ? s->f : x[0];
    for (; k < n && best == best; k++) {
        if (x[k] > best || x[k] != x[k]) {
            best = x[k];
            s->j = s->seen + k;
        }
    }
    s->f = best;
}

static void min_f32(pt_fold_t *s, const float *x, int n)
{
    int k = s->seen ? 0 : 1;
    float best = s->seen ? s->f : x[0];
    for (; k < n && best == best; k++) {
        if (x[k] < best || x[k] != x[k]) {
            best = x[k];
            s->j = s->seen + k;
        }
    }
    s->f = best;
}

static void max_i64(pt_fold_t *s, const int64_t *x, int n)
{
    s->i = s->seen ? s->i : x[0];
    for (int k = 0; k < n; k++) {
        if (x[k] > s->i) {
            s->i = x[k];
            s->j = s->seen + k;
        }
    }
}

static void min_i64(pt_fold_t *s, const int64_t *x, int n)
{
    s->i = s->seen ? s->i : x[0];
    for (int k = 0; k < n; k++) {
        if (x[k] < s->i) {
            s->i = x[k];
            s->j = s->seen + k;
        }
    }
}

static const pt_rule_t max_rule = {max_f32, max_i64, NULL, {PT_VALUE, PT_INDEX}};
static const pt_rule_t min_rule = {min_f32, min_i64, NULL, {PT_VALUE, PT_INDEX}};
static const pt_rule_t argmax_rule = {max_f32, max_i64, NULL, {PT_INDEX}};
static const pt_rule_t argmin_rule = {min_f32, min_i64, NULL, {PT_INDEX}};

static mp_obj_t extreme(pt_call_t *c, const pt_rule_t *rule)
{
    request_t r;
    request(c, &r, false);
    pt_some_elements(c, &r.plan, r.by_dim);
    const int dtype = r.plan.x->dtype;
    return reduced(c, &r, rule, pt_compute(dtype), rule->out[0] == PT_INDEX ? PT_INT64 : dtype);
}

mp_obj_t pt_do_amax(pt_call_t *c) { return extreme(c, &max_rule); }

mp_obj_t pt_do_amin(pt_call_t *c) { return extreme(c, &min_rule); }

static mp_obj_t where_extreme(pt_call_t *c, const pt_rule_t *rule)
{
    if (c->args[0].v.tensor->dtype == PT_BOOL) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("%q(): does not support bool input"), c->op->name);
    }
    if (!c->args[1].given && pt_numel(c->args[0].v.tensor) == 0) {
        mp_raise_msg_varg(&mp_type_IndexError,
            MP_ERROR_TEXT("%q(): Expected reduction dim to be specified for input.numel() == 0."), c->op->name);
    }
    return extreme(c, rule);
}

mp_obj_t pt_do_argmax(pt_call_t *c) { return where_extreme(c, &argmax_rule); }

mp_obj_t pt_do_argmin(pt_call_t *c) { return where_extreme(c, &argmin_rule); }

static mp_obj_t extreme_of_dim(pt_call_t *c, const pt_rule_t *rule, const uint16_t *names)
{
    request_t r;
    request(c, &r, false);
    pt_some_elements(c, &r.plan, true);
    const pt_fold_t first = {0};
    const int dtype = r.plan.x->dtype;
    pt_tensor_t *y[] = {pt_result_at(c, 0, dtype, r.plan.ndim, r.plan.sizes),
                        pt_result_at(c, 1, PT_INT64, r.plan.ndim, r.plan.sizes)};
    pt_reduce(&r.plan, rule, &first, pt_compute(dtype), 2, y);
    const mp_obj_t both[] = {MP_OBJ_FROM_PTR(y[0]), MP_OBJ_FROM_PTR(y[1])};
    return pt_named(names, 2, both);
}

mp_obj_t pt_do_max_dim(pt_call_t *c)
{
    static const uint16_t names[] = {MP_QSTR_max, MP_QSTR_values, MP_QSTR_indices};
    return extreme_of_dim(c, &max_rule, names);
}

mp_obj_t pt_do_min_dim(pt_call_t *c)
{
    static const uint16_t names[] = {MP_QSTR_min, MP_QSTR_values, MP_QSTR_indices};
    return extreme_of_dim(c, &min_rule, names);
}

