/* Variances, norms, logarithms of sums: reductions with a formula at the end. */
#include "reduce.h"

#include "functions.h"
#include "generated/rows.h"

#include "abs_f32.h"
#include "minmax_f32.h"
#include "sqrt_f32.h"
#include "sum_f32.h"

static uint32_t some_dims(pt_call_t *c, const pt_arg_t *dims, int ndim)
{
    return dims->given && dims->count ? pt_dims(c, dims, ndim) : ~0u;
}

/* ---- variance ---------------------------------------------------------------------------------------------------- */

/* f is the mean so far, g the sum of squared distances from it; p is the correction. */
static void var_f32(pt_fold_t *s, const float *x, int n)
{
    const float mean = pl_sum_f32(x, n, 1) / (float)n, all = (float)(s->seen + n);
    const float far = mean - s->f;
    s->g += pl_sum_squares_f32(x, n, 1, mean) + far * far * ((float)s->seen * (float)n / all);
    s->f += s->seen ? far * ((float)n / all) : mean;
}

static void var_end(pt_fold_t *s)
{
    const float count = (float)s->seen - s->p, mean = s->seen ? s->f : pl_nan();
    s->f = s->g / (count > 0.0f ? count : 0.0f);
    s->g = mean;
}

static void std_end(pt_fold_t *s)
{
    var_end(s);
    s->f = pl_sqrt_f32(s->f);
}

static const pt_rule_t var_rule = {var_f32, NULL, var_end, {PT_VALUE, PT_SECOND}};
static const pt_rule_t std_rule = {var_f32, NULL, std_end, {PT_VALUE, PT_SECOND}};

/* overload->data: what follows self (0: unbiased; 1: dims, unbiased, keepdim; 2: dims, correction, keepdim), with 4 the
 * root is wanted, with 8 the mean as well. */
mp_obj_t pt_do_var(pt_call_t *c)
{
    const int data = (int)c->overload->data.number, form = data & 3;
    const pt_arg_t *bias = &c->args[form ? 2 : 1];
    pt_tensor_t *x = c->args[0].v.tensor, *y[2];
    pt_fold_t first = {.p = 1.0f};
    pt_plan_t plan;
    if (!pt_is_float(x->dtype)) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("%s only support floating point and complex dtypes"),
            data & 8 ? c->op->name == MP_QSTR_var_mean ? "var_mean" : "std_mean" : "std and var");
    }
    if (form == 2 && bias->given) {
        first.p = (float)mp_obj_get_float(bias->object);
    } else if (form < 2) {
        first.p = bias->v.i ? 1.0f : 0.0f;
    }
    pt_plan(&plan, x, form ? some_dims(c, &c->args[1], x->ndim) : ~0u, form && c->args[3].v.i);
    y[0] = pt_result_at(c, 0, x->dtype, plan.ndim, plan.sizes);
    y[1] = data & 8 ? pt_result_at(c, 1, x->dtype, plan.ndim, plan.sizes) : NULL;
    pt_reduce(&plan, data & 4 ? &std_rule : &var_rule, &first, PT_FLOAT32, data & 8 ? 2 : 1, y);
    const mp_obj_t both[] = {MP_OBJ_FROM_PTR(y[0]), MP_OBJ_FROM_PTR(y[1])};
    return data & 8 ? mp_obj_new_tuple(2, both) : both[0];
}

/* ---- norms ------------------------------------------------------------------------------------------------------- */

static void norm_f32(pt_fold_t *s, const float *x, int n)
{
    const bool extreme = pl_abs_f32(s->p) == pl_inf();
    float sum = 0.0f;
    if (s->p == 2.0f) {
        sum = pl_sum_squares_f32(x, n, 1, 0.0f);
    } else if (extreme) {
        for (int k = 0; k < n; k++) {
            const float v = pl_abs_f32(x[k]);
            s->f = s->seen + k == 0 ? v : s->p > 0.0f ? pl_max_f32(v, s->f) : pl_min_f32(v, s->f);
        }
    } else {
        for (int k = 0; k < n; k++) {
            const float v = pl_abs_f32(x[k]);
            sum += s->p == 0.0f ? (float)(v != 0.0f) : s->p == 1.0f ? v : pl_pow_f32(v, s->p);
        }
    }
    s->part += sum;
    if (++s->parts == 32) {
        pt_fold_sum_end(s);
        s->parts = 0;
    }
}

static void norm_end(pt_fold_t *s)
{
    pt_fold_sum_end(s);
    if (s->p == 2.0f) {
        s->f = pl_sqrt_f32(s->f);
    } else if (s->p != 0.0f && s->p != 1.0f && pl_abs_f32(s->p) != pl_inf()) {
        s->f = pl_pow_f32(s->f, 1.0f / s->p);
    }
}

static const pt_rule_t norm_rule = {norm_f32, NULL, norm_end, {PT_VALUE}};

static mp_obj_t norm(pt_call_t *c, pt_tensor_t *x, const pt_arg_t *p, const pt_arg_t *dims, bool keepdim, int dtype)
{
    const pt_fold_t first = {.p = p && p->given ? (float)mp_obj_get_float(p->object) : 2.0f};
    pt_plan_t plan;
    if (!pt_is_float(x->dtype) || !pt_is_float(dtype)) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s"),
            pt_dtype_name(x->dtype));
    }
    pt_plan(&plan, x, dims ? some_dims(c, dims, x->ndim) : ~0u, keepdim);
    pt_tensor_t *y = pt_result(c, dtype, plan.ndim, plan.sizes);
    if (plan.lane == 0 && pt_numel(y) && (first.p < 0.0f || first.p == pl_inf())) {
        mp_raise_msg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("linalg.vector_norm cannot compute the norm on an empty tensor"));
    }
    pt_reduce(&plan, &norm_rule, &first, PT_FLOAT32, 1, &y);
    return MP_OBJ_FROM_PTR(y);
}

/* norm by name: (self, p, dim, keepdim, dtype). */
mp_obj_t pt_do_norm_name(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor;
    const char *name = mp_obj_str_get_str(c->args[1].object);
    if (strcmp(name, "fro") != 0) {
        mp_raise_msg_varg(&mp_type_NotImplementedError, MP_ERROR_TEXT("norm(): argument 'p' must not be '%s'"), name);
    }
    return norm(c, x, NULL, &c->args[2], c->args[3].v.i != 0, c->args[4].given ? c->args[4].v.dtype : x->dtype);
}

/* norm and linalg_vector_norm: (self, p, dim, keepdim, dtype). */
mp_obj_t pt_do_vector_norm(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor;
    const int dtype = c->args[4].given ? c->args[4].v.dtype : x->dtype;
    return norm(c, x, &c->args[1], &c->args[2], c->args[3].v.i != 0, dtype);
}

mp_obj_t pt_do_frobenius_norm(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor;
    return norm(c, x, NULL, &c->args[1], c->args[2].v.i != 0, x->dtype);
}

mp_obj_t pt_do_dist(pt_call_t *c)
{
    pt_tensor_t *const operands[] = {c->args[0].v.tensor, c->args[1].v.tensor};
    pt_tensor_t *far = pt_apply(&pt_row_sub, 2, operands, NULL);
    return norm(c, far, &c->args[2], NULL, false, far->dtype);
}

/* ---- the logarithm of a sum of exponentials ---------------------------------------------------------------------- */

/* g is the sum of exp(x - f) so far; f is the largest, or 0 where that is infinite or NaN. */
static void logsumexp_f32(pt_fold_t *s, const float *x, int n)
{
    float top = s->parts ? pl_max_f32(x[0], s->f) : x[0], sum = 0.0f;
    for (int k = 1; k < n; k++) {
        top = pl_max_f32(x[k], top);
    }
    const bool finite = pl_abs_f32(top) < pl_inf();
    const float base = finite ? top : 0.0f;
    s->g *= s->parts ? pl_exp_f32(s->f - base) : 1.0f;
    for (int k = 0; k < n; k++) {
        sum += pl_exp_f32(x[k] - base);
    }
    s->g += sum;
    s->f = base;
    s->parts = s->parts || finite;
}

static void logsumexp_end(pt_fold_t *s) { s->f += pl_log_f32(s->g); }

static const pt_rule_t logsumexp_rule = {logsumexp_f32, NULL, logsumexp_end, {PT_VALUE}};

mp_obj_t pt_do_logsumexp(pt_call_t *c)
{
    const pt_fold_t first = {0};
    pt_tensor_t *x = c->args[0].v.tensor;
    pt_plan_t plan;
    pt_plan(&plan, x, some_dims(c, &c->args[1], x->ndim), c->args[2].v.i != 0);
    pt_tensor_t *y = pt_result(c, pt_is_float(x->dtype) ? x->dtype : PT_FLOAT32, plan.ndim, plan.sizes);
    pt_reduce(&plan, &logsumexp_rule, &first, PT_FLOAT32, 1, &y);
    return MP_OBJ_FROM_PTR(y);
}
