/* Losses: element by element, then their mean or sum. */
#include "dense.h"

#include "functions.h"
#include "abs_f32.h"
#include "generated/rows.h"
#include "sum_f32.h"

enum { NONE, MEAN, SUM }; /* reduction */

/* Reduction number k of the arguments. */
static int reduction(pt_call_t *c, int k)
{
    const int64_t how = c->args[k].v.i;
    if (how < NONE || how > SUM) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("%d is not a valid value for reduction"), (int)how);
    }
    return (int)how;
}

/* `losses` (contiguous floats) as the result. */
static mp_obj_t reduced(pt_call_t *c, pt_tensor_t *losses, int how, int dtype)
{
    if (how != NONE) {
        const int32_t n = pt_numel(losses);
        float sum = pl_sum_f32((const float *)losses->data, n, 1);
        sum = how == MEAN ? sum / (float)n : sum;
        losses = pt_new(PT_FLOAT32, 0, NULL);
        memcpy(losses->data, &sum, sizeof(sum));
    }
    return pt_finish(c, losses, dtype);
}

/* ---- of two tensors ---------------------------------------------------------------------------------------------------- */

/* overload->data; operators/loss.py has the same order. */
enum { MSE, L1, SMOOTH_L1, HUBER, SOFT_MARGIN, KL_DIV, KL_DIV_LOG, BCE, BCE_LOGITS };

#define EACH(expression)          \
    for (int k = 0; k < n; k++) { \
        const float v = x[k], w = t[k], d = v - w, size = pl_abs_f32(d); \
        (void)d, (void)size;      \
        y[k] = (expression);      \
    }                             \
    break

/* A logarithm that does not go below -100, as PyTorch's binary cross entropy has it. */
static float limited_log(float v)
{
    const float l = pl_log_f32(v);
    return l < -100.0f ? -100.0f : l;
}

static float x_log_y(float x, float y) { return x == 0.0f && y == y ? 0.0f : x * pl_log_f32(y); }

/* log(1 + e^-|v|) */
static float log_rest(float v) { return pl_log1p_f32(pl_exp_f32(-pl_abs_f32(v))); }

static void losses(int kind, const float *p, const float *x, const float *t, float *y, int n)
{
    const float b = p[0];
    switch (kind) {
        case MSE:
            EACH(d * d);
        case L1:
            EACH(size);
        case SMOOTH_L1:
            EACH(size < b ? 0.5f * d * d / b : size - 0.5f * b);
        case HUBER:
            EACH(size <= b ? 0.5f * d * d : b * (size - 0.5f * b));
        case KL_DIV:
            EACH(x_log_y(w, w) - w * v);
        case KL_DIV_LOG:
            EACH(pl_exp_f32(w) * (w - v));
        case BCE:
            EACH((w - 1.0f) * limited_log(1.0f - v) - w * limited_log(v));
        case BCE_LOGITS:
            EACH((1.0f - w) * v + ((v < 0.0f ? -v : 0.0f) + log_rest(v)));
        default:
            EACH((w * v < 0.0f ? -w * v : 0.0f) + log_rest(w * v));
    }
}

static pt_tensor_t *elementwise(pt_call_t *c, int kind, float parameter)
{
    pt_tensor_t *x = c->args[0].v.tensor, *t = c->args[1].v.tensor;
    int32_t sizes[PT_MAX_DIMS];
    pt_tensor_t *const operands[] = {x, t};
    const int ndim = pt_broadcast(2, operands, sizes);
    if (!pt_is_float(pt_promote(x->dtype, t->dtype))) {
        mp_raise_msg_varg(&mp_type_NotImplementedError, MP_ERROR_TEXT("\"%q\" not implemented for '%s'"), c->op->name,
            pt_dtype_name(x->dtype));
    }
    pt_tensor_t *const all[] = {pt_new(PT_FLOAT32, ndim, sizes), pt_expand(x, ndim, sizes), pt_expand(t, ndim, sizes)};
    pt_float_map(losses, kind, &parameter, 3, all);
    return all[0];
}

/* mse, l1, soft margin: (self, target, reduction); smooth l1 and Huber: (..., their parameter) */
mp_obj_t pt_loss(pt_call_t *c)
{
    const int kind = (int)c->overload->data.number;
    const int dtype = pt_promote(c->args[0].v.tensor->dtype, c->args[1].v.tensor->dtype);
    const bool has_parameter = kind == SMOOTH_L1 || kind == HUBER;
    const float parameter = has_parameter ? (float)c->args[3].v.f : 0.0f;
    if (kind == SMOOTH_L1 && parameter < 0.0f) {
        pt_fail(MP_ERROR_TEXT("smooth_l1_loss does not support negative values for beta."));
    }
    if (kind == HUBER && !(parameter > 0.0f)) {
        pt_fail(MP_ERROR_TEXT("huber_loss does not support non-positive values for delta."));
    }
    return reduced(c, elementwise(c, kind, parameter), reduction(c, 2), dtype);
}

/* (self, target, reduction, *, log_target) */
mp_obj_t pt_kl_div(pt_call_t *c)
{
    const int dtype = pt_promote(c->args[0].v.tensor->dtype, c->args[1].v.tensor->dtype);
    return reduced(c, elementwise(c, c->args[3].v.i ? KL_DIV_LOG : KL_DIV, 0.0f), reduction(c, 2), dtype);
}

static pt_tensor_t *times(pt_tensor_t *y, pt_tensor_t *w)
{
    pt_tensor_t *const both[] = {y, pt_contiguous(w, PT_FLOAT32)};
    return pt_apply(&pt_row_mul, 2, both, NULL);
}

/* (self, target, weight, reduction) */
mp_obj_t pt_bce(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor;
    const int dtype = x->dtype;
    x = pt_elements(c, 0, PT_FLOAT32);
    for (int32_t k = 0, n = pt_numel(x); k < n; k++) {
        const float v = ((const float *)x->data)[k];
        if (!(v >= 0.0f && v <= 1.0f)) {
            pt_fail(MP_ERROR_TEXT("all elements of input should be between 0 and 1"));
        }
    }
    pt_tensor_t *y = elementwise(c, BCE, 0.0f);
    y = c->args[2].given ? times(y, c->args[2].v.tensor) : y;
    return reduced(c, y, reduction(c, 3), dtype);
}

/* (self, target, weight, pos_weight, reduction): (1 - t) x + (1 + (p - 1) t) (log(1 + e^-|x|) + max(-x, 0)) */
mp_obj_t pt_bce_logits(pt_call_t *c)
{
    pt_tensor_t *t = c->args[1].v.tensor;
    const int dtype = pt_promote(c->args[0].v.tensor->dtype, t->dtype);
    pt_tensor_t *y;
    if (c->args[3].given) {
        int32_t sizes[PT_MAX_DIMS];
        pt_tensor_t *const shapes[] = {t, c->args[3].v.tensor};
        const int ndim = pt_broadcast(2, shapes, sizes);
        const pt_tensor_t *x = pt_contiguous(pt_expand(c->args[0].v.tensor, ndim, sizes), PT_FLOAT32);
        const pt_tensor_t *p = pt_contiguous(pt_expand(c->args[3].v.tensor, ndim, sizes), PT_FLOAT32);
        const pt_tensor_t *target = pt_contiguous(pt_expand(t, ndim, sizes), PT_FLOAT32);
        y = pt_new(PT_FLOAT32, ndim, sizes);
        for (int32_t k = 0, n = pt_numel(y); k < n; k++) {
            const float v = ((const float *)x->data)[k], w = ((const float *)target->data)[k];
            const float scale = 1.0f + (((const float *)p->data)[k] - 1.0f) * w;
            ((float *)y->data)[k] = (1.0f - w) * v + scale * (log_rest(v) + (v < 0.0f ? -v : 0.0f));
        }
        pt_keep(x);
        pt_keep(p);
        pt_keep(target);
    } else {
        y = elementwise(c, BCE_LOGITS, 0.0f);
    }
    y = c->args[2].given ? times(y, c->args[2].v.tensor) : y;
    return reduced(c, y, reduction(c, 4), dtype);
}
