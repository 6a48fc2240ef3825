/* Variances and norms: reductions with a formula at the end. */
#include "reduce.h"

#include "functions.h"

#include "abs_f32.h"
#include "minmax_f32.h"
#include "sqrt_f32.h"
#include "sum_f32.h"

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
    const float count = (float)s->seen - s->p;
    s->f = s->g / (count > 0.0f ? count : 0.0f);
}

static void std_end(pt_fold_t *s)
{
    var_end(s);
    s->f = pl_sqrt_f32(s->f);
}

static const pt_rule_t var_rule = {var_f32, NULL, var_end, {PT_VALUE}};
static const pt_rule_t std_rule = {var_f32, NULL, std_end, {PT_VALUE}};

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

/* ---- the operators ----------------------------------------------------------------------------------------------- */

/* All of them need floats; no dimensions are all of them. */
static mp_obj_t moment(
    pt_call_t *c, const pt_rule_t *rule, const pt_fold_t *first, const pt_arg_t *dims, bool keepdim, int dtype)
{
    pt_tensor_t *x = pt_unwritten(c, 0);
    pt_plan_t plan;
    if (!pt_is_float(x->dtype) || pt_promote(x->dtype, dtype) != dtype) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("%q(): Expected a floating point dtype that is no narrower"), c->op->name);
    }
    pt_plan(&plan, x, dims && dims->given && dims->count ? pt_dims(c, dims, x->ndim) : ~0u, keepdim);
    pt_tensor_t *y = pt_result(c, dtype, plan.ndim, plan.sizes);
    if (plan.lane == 0 && rule->end == norm_end && pt_numel(y) && (first->p < 0.0f || first->p == pl_inf())) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("%q(): Expected elements"), c->op->name);
    }
    pt_reduce(&plan, rule, first, PT_FLOAT32, 1, &y);
    return MP_OBJ_FROM_PTR(y);
}

/* overload->data: what follows self (0: unbiased; 1: dims, unbiased, keepdim; 2: dims, correction, keepdim), with 4 the
 * root is wanted. */
mp_obj_t pt_do_var(pt_call_t *c)
{
    const int data = (int)c->overload->data.number, form = data & 3;
    const pt_arg_t *bias = &c->args[form ? 2 : 1];
    pt_tensor_t *x = c->args[0].v.tensor;
    pt_fold_t first = {.p = 1.0f};
    if (form == 2 && bias->given) {
        first.p = (float)mp_obj_get_float(bias->object);
    } else if (form < 2) {
        first.p = bias->v.i ? 1.0f : 0.0f;
    }
    return moment(
        c, data & 4 ? &std_rule : &var_rule, &first, form ? &c->args[1] : NULL, form && c->args[3].v.i, x->dtype);
}

/* linalg_vector_norm: (self, p, dim, keepdim, dtype). */
mp_obj_t pt_do_vector_norm(pt_call_t *c)
{
    const pt_fold_t first = {.p = (float)mp_obj_get_float(c->args[1].object)};
    return moment(c, &norm_rule, &first, &c->args[2], c->args[3].v.i != 0,
        c->args[4].given ? c->args[4].v.dtype : c->args[0].v.tensor->dtype);
}
