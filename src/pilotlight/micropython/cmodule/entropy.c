/* Losses of classes: negative log likelihood and cross entropy. */
#include "dense.h"

#include "functions.h"
#include "log_softmax_f32.h"

enum { NONE, MEAN, SUM }; /* reduction */

/* Scores (outer, classes, inner) and one target for each of (outer, inner). */
typedef struct {
    int32_t outer, classes, inner;
    const float *scores, *weight; /* weight (classes) or NULL */
    int reduction, dtype;
    int64_t ignore;
} classes_t;

static void read_scores(pt_call_t *c, classes_t *s)
{
    const pt_tensor_t *x = c->args[0].v.tensor;
    const pt_arg_t *weight = &c->args[2];
    if (x->ndim == 0) {
        mp_raise_ValueError(MP_ERROR_TEXT("Expected 1 or more dimensions (got 0)"));
    }
    pt_need_float("nll_loss_out_frame", x);
    s->dtype = x->dtype;
    s->outer = x->ndim > 1 ? x->dims[0] : 1;
    s->classes = x->dims[x->ndim > 1];
    s->inner = pt_product(x, 2, x->ndim);
    s->reduction = (int)c->args[3].v.i;
    s->ignore = c->args[4].v.i;
    if (weight->given && (weight->v.tensor->ndim != 1 || weight->v.tensor->dims[0] != s->classes)) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("weight tensor should be defined either for all %d classes or no classes but got weight tensor "
                          "of shape: %s"), (int)s->classes, pt_shape_of(weight->v.tensor));
    }
    s->weight = pt_floats(c, 2);
    s->scores = pt_floats(c, 0);
}

/* The targets' sizes have to be those of the scores without their classes; gives the tensor of losses. */
static pt_tensor_t *check_targets(pt_call_t *c)
{
    const pt_tensor_t *x = c->args[0].v.tensor, *t = c->args[1].v.tensor;
    int32_t sizes[PT_MAX_DIMS];
    int ndim = 0;
    for (int d = 0; d < x->ndim; d++) {
        if (d != (x->ndim > 1)) {
            sizes[ndim++] = x->dims[d];
        }
    }
    const bool one = x->ndim == 1 && t->ndim == 1 && t->dims[0] == 1; /* PyTorch takes (1) for () */
    if (!one && x->ndim > 1 && (t->ndim < 1 || t->dims[0] != x->dims[0])) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("Expected input batch_size (%d) to match target batch_size (%d)."),
            (int)x->dims[0], (int)(t->ndim ? t->dims[0] : 0));
    }
    if (!one && (t->ndim != ndim || memcmp(sizes, t->dims, (size_t)ndim * sizeof(int32_t)) != 0)) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("Expected target size %s, got %s"),
            pt_shape_text(ndim, sizes), pt_shape_of(t));
    }
    if (t->dtype != PT_INT64 && t->dtype != PT_UINT8) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("expected scalar type Long but found %s"),
            pt_dtype_name(t->dtype));
    }
    return pt_new(PT_FLOAT32, ndim, sizes);
}

static mp_obj_t finish(pt_call_t *c, const classes_t *s, pt_tensor_t *losses, float sum, float divisor)
{
    if (s->reduction != NONE) {
        sum = s->reduction == MEAN ? sum / divisor : sum;
        losses = pt_new(PT_FLOAT32, 0, NULL);
        memcpy(losses->data, &sum, sizeof(sum));
    }
    return pt_finish(c, losses, s->dtype);
}

/* -w[t] x[t] for every target t; with `smoothing` mixed with the mean of -w x over all classes. */
static mp_obj_t of_targets(pt_call_t *c, classes_t *s, float smoothing)
{
    pt_tensor_t *losses = check_targets(c);
    const int64_t *target = (const int64_t *)pt_elements(c, 1, PT_INT64)->data;
    float *y = (float *)losses->data, sum = 0.0f, total = 0.0f;
    for (int32_t k = 0; k < s->outer * s->inner; k++) {
        const float *x = s->scores + k / s->inner * s->classes * s->inner + k % s->inner;
        const int64_t t = target[k];
        y[k] = 0.0f;
        if (t == s->ignore) {
            continue;
        }
        if (t < 0 || t >= s->classes) {
            mp_raise_msg_varg(&mp_type_IndexError, MP_ERROR_TEXT("Target %d is out of bounds."), (int)t);
        }
        const float w = s->weight ? s->weight[t] : 1.0f;
        y[k] = -x[t * s->inner] * w;
        if (smoothing > 0.0f) {
            float all = 0.0f;
            for (int32_t j = 0; j < s->classes; j++) {
                all -= x[j * s->inner] * (s->weight ? s->weight[j] : 1.0f);
            }
            y[k] = (1.0f - smoothing) * y[k] + smoothing / (float)s->classes * all;
        }
        sum += y[k];
        total += w;
    }
    return finish(c, s, losses, sum, total);
}

/* -sum of p x w over the classes, for targets that are probabilities. */
static mp_obj_t of_probabilities(pt_call_t *c, classes_t *s, float smoothing)
{
    const pt_tensor_t *x = c->args[0].v.tensor;
    int32_t sizes[PT_MAX_DIMS];
    int ndim = 0;
    for (int d = 0; d < x->ndim; d++) {
        if (d != (x->ndim > 1)) {
            sizes[ndim++] = x->dims[d];
        }
    }
    pt_tensor_t *losses = pt_new(PT_FLOAT32, ndim, sizes);
    const float *target = pt_floats(c, 1);
    float *y = (float *)losses->data, sum = 0.0f;
    for (int32_t k = 0; k < s->outer * s->inner; k++) {
        const int32_t at = k / s->inner * s->classes * s->inner + k % s->inner;
        y[k] = 0.0f;
        for (int32_t j = 0; j < s->classes; j++) {
            const float p = target[at + j * s->inner] * (1.0f - smoothing) + smoothing / (float)s->classes;
            y[k] -= s->scores[at + j * s->inner] * p * (s->weight ? s->weight[j] : 1.0f);
        }
        sum += y[k];
    }
    return finish(c, s, losses, sum, (float)(s->outer * s->inner));
}

/* (self, target, weight, reduction, ignore_index) */
mp_obj_t pt_nll_loss(pt_call_t *c)
{
    classes_t s;
    read_scores(c, &s);
    return of_targets(c, &s, 0.0f);
}

/* (self, target, weight, reduction, ignore_index, label_smoothing) */
mp_obj_t pt_cross_entropy(pt_call_t *c)
{
    classes_t s;
    const float smoothing = (float)c->args[5].v.f;
    const pt_tensor_t *t = c->args[1].v.tensor;
    if (smoothing < 0.0f || smoothing > 1.0f) {
        pt_fail(MP_ERROR_TEXT("label_smoothing must be between 0.0 and 1.0."));
    }
    read_scores(c, &s);
    pt_tensor_t *x = c->args[0].v.tensor, *logs = pt_new_like(x, PT_FLOAT32);
    if (s.classes > 0) {
        pl_log_softmax_f32(s.scores, (float *)logs->data, s.outer, s.classes, s.inner);
    }
    c->args[0].v.tensor = logs;
    s.scores = (const float *)logs->data;
    pt_poll();
    if (t->ndim == x->ndim && memcmp(t->dims, x->dims, x->ndim * sizeof(int32_t)) == 0) {
        if (!pt_is_float(t->dtype)) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("Expected floating point type for target with class probabilities, got %s"),
                pt_dtype_name(t->dtype));
        }
        return of_probabilities(c, &s, smoothing);
    }
    return of_targets(c, &s, smoothing);
}
