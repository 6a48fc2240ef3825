/* Sums, products, extremes, truth: reductions to one number per lane. */
#include "reduce.h"

#include "number_f32.h"
#include "sum_f32.h"

/* How an overload says what to reduce (the lower bits of its data): nothing, a list or an int after self; keepdim and
 * dtype follow. */
enum { ALL, DIMS, DIM, KIND = 3 };

typedef struct {
    pt_plan_t plan;
    const pt_arg_t *dtype; /* NULL: the operator has none */
    bool by_dim;
} request_t;

static void request(pt_call_t *c, request_t *r, bool has_dtype)
{
    pt_tensor_t *x = pt_unwritten(c, 0);
    const int kind = (int)(c->overload->data.number & KIND);
    uint32_t bits = 0;
    r->by_dim = kind != ALL && c->args[1].given && (kind == DIM || c->args[1].count);
    if (r->by_dim) {
        bits = kind == DIM ? 1u << pt_dim(c, c->args[1].v.i, x->ndim) : pt_dims(c, &c->args[1], x->ndim);
    }
    r->dtype = !has_dtype ? NULL : &c->args[kind == ALL ? 1 : 3];
    if (has_dtype && (r->dtype->given || c->out)) { /* elements are converted first: 0.5 is True, 70000 infinite */
        const int asked = r->dtype->given ? r->dtype->v.dtype : c->out->dtype;
        const bool narrow = asked == PT_BOOL || (pt_is_float(asked) && asked != PT_FLOAT32);
        x = narrow && asked != x->dtype ? pt_contiguous(x, asked) : x;
    }
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

static void sum_f32(pt_fold_t *s, const float *x, int n)
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

static const pt_rule_t sum_rule = {sum_f32, sum_i64, pt_fold_sum_end, {PT_VALUE}};

static void mean_end(pt_fold_t *s)
{
    pt_fold_sum_end(s);
    s->f /= (float)s->seen;
}

static const pt_rule_t mean_rule = {sum_f32, NULL, mean_end, {PT_VALUE}};
static mp_obj_t mean(pt_call_t *c, const pt_rule_t *rule)
{
    request_t r;
    request(c, &r, true);
    const int dtype = r.dtype->given ? r.dtype->v.dtype : r.plan.x->dtype;
    if (!pt_is_float(dtype)) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("%q(): could not infer output dtype. Input dtype must be either a floating point or complex "
                          "dtype. Got: %s"),
            c->op->name, pt_dtype_name(dtype));
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

/* sum and prod (overload->data & PROD); integers become int64, unless a dtype is asked for. */
enum { PROD = 4 };

mp_obj_t pt_do_sum(pt_call_t *c)
{
    request_t r;
    request(c, &r, true);
    const int own = r.plan.x->dtype;
    const int dtype = r.dtype->given ? r.dtype->v.dtype : c->out ? c->out->dtype : pt_is_float(own) ? own : PT_INT64;
    return reduced(c, &r, c->overload->data.number & PROD ? &prod_rule : &sum_rule, pt_compute(dtype), dtype);
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

/* any and all (overload->data & ALL_OF): an empty list of dimensions reduces nothing, and uint8 stays uint8. */
enum { ALL_OF = 4 };

mp_obj_t pt_do_truth(pt_call_t *c)
{
    request_t r;
    const int data = (int)c->overload->data.number;
    request(c, &r, false);
    if ((data & KIND) == DIMS && c->args[1].given && c->args[1].count == 0) {
        pt_plan(&r.plan, r.plan.x, 0, true);
    }
    const int x = r.plan.x->dtype;
    return reduced(c, &r, data & ALL_OF ? &all_rule : &any_rule, pt_compute(x), x == PT_UINT8 ? PT_UINT8 : PT_BOOL);
}

/* ---- extremes ---------------------------------------------------------------------------------------------------- */

/* The largest, with p -1 the least, and its first index; the first NaN wins. */
static void extreme_f32(pt_fold_t *s, const float *x, int n)
{
    int k = s->seen ? 0 : 1;
    float best = s->seen ? s->f : x[0];
    for (; k < n && best == best; k++) {
        if (x[k] * s->p > best * s->p || x[k] != x[k]) {
            best = x[k];
            s->j = s->seen + k;
        }
    }
    s->f = best;
}

static void extreme_i64(pt_fold_t *s, const int64_t *x, int n)
{
    const int64_t turn = s->p < 0.0f ? -1 : 0;
    s->i = s->seen ? s->i : x[0];
    for (int k = 0; k < n; k++) {
        if ((x[k] ^ turn) > (s->i ^ turn)) {
            s->i = x[k];
            s->j = s->seen + k;
        }
    }
}

static const pt_rule_t extreme_rule = {extreme_f32, extreme_i64, NULL, {PT_VALUE, PT_INDEX}};
static const pt_rule_t where_rule = {extreme_f32, extreme_i64, NULL, {PT_INDEX}};

/* overload->data & LEAST: the least, & WHERE: its index, & BOTH: the value and the index. */
enum { LEAST = 4, WHERE = 8, BOTH = 16 };

mp_obj_t pt_do_extreme(pt_call_t *c)
{
    static const uint16_t names[2][3] = {
        {MP_QSTR_max, MP_QSTR_values, MP_QSTR_indices}, {MP_QSTR_min, MP_QSTR_values, MP_QSTR_indices}};
    const int data = (int)c->overload->data.number;
    const pt_fold_t first = {.p = data & LEAST ? -1.0f : 1.0f};
    request_t r;
    request(c, &r, false);
    const int dtype = r.plan.x->dtype;
    if (data & WHERE && (dtype == PT_BOOL || (!c->args[1].given && pt_numel(r.plan.x) == 0))) {
        mp_raise_msg_varg(dtype == PT_BOOL ? &mp_type_RuntimeError : &mp_type_IndexError,
            MP_ERROR_TEXT("%q(): Expected elements, and another dtype than bool"), c->op->name);
    }
    pt_some_elements(c, &r.plan, r.by_dim);
    pt_tensor_t *y[2] = {pt_result(c, data & WHERE ? PT_INT64 : dtype, r.plan.ndim, r.plan.sizes)};
    if (data & BOTH) {
        y[1] = pt_result_at(c, 1, PT_INT64, r.plan.ndim, r.plan.sizes);
    }
    pt_reduce(&r.plan, data & WHERE ? &where_rule : &extreme_rule, &first, pt_compute(dtype), data & BOTH ? 2 : 1, y);
    const mp_obj_t both[] = {MP_OBJ_FROM_PTR(y[0]), MP_OBJ_FROM_PTR(y[1])};
    return data & BOTH ? pt_named(names[data & LEAST ? 1 : 0], 2, both) : both[0];
}
