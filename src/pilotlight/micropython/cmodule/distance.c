/* Distances and angles between vectors. */
#include "dense.h"
#include "generated/rows.h"

#include "functions.h"
#include "sqrt_f32.h"
#include "sum_f32.h"

/* Both operands (arguments 0 and 1) as floats of their broadcast shape. */
static int same_shape(pt_call_t *c, int32_t *sizes)
{
    pt_tensor_t *const both[] = {c->args[0].v.tensor, c->args[1].v.tensor};
    const int ndim = pt_broadcast(2, both, sizes);
    for (int k = 0; k < 2; k++) {
        c->args[k].v.tensor = pt_contiguous(pt_expand(both[k], ndim, sizes), PT_FLOAT32);
    }
    return ndim;
}

/* (x1, x2, dim, eps) */
mp_obj_t pt_cosine_similarity(pt_call_t *c)
{
    const int dtype = pt_promote(c->args[0].v.tensor->dtype, c->args[1].v.tensor->dtype);
    int32_t sizes[PT_MAX_DIMS];
    if (!pt_is_float(dtype)) {
        pt_fail(MP_ERROR_TEXT("expected common dtype to be floating point"));
    }
    const int ndim = same_shape(c, sizes), dim = pt_dim(c, c->args[2].v.i, ndim);
    const pt_tensor_t *a = c->args[0].v.tensor, *b = c->args[1].v.tensor;
    const int32_t axis = ndim ? sizes[dim] : 1, inner = pt_product(a, dim + 1, ndim);
    const float eps = (float)c->args[3].v.f;
    if (ndim) {
        memmove(sizes + dim, sizes + dim + 1, (size_t)(ndim - 1 - dim) * sizeof(int32_t));
    }
    pt_tensor_t *y = pt_new(PT_FLOAT32, ndim ? ndim - 1 : 0, sizes);
    for (int32_t k = 0, n = pt_numel(y); k < n; k++) {
        const float *u = (const float *)a->data + k / inner * axis * inner + k % inner;
        const float *v = (const float *)b->data + k / inner * axis * inner + k % inner;
        const float du = pl_sqrt_f32(pl_sum_squares_f32(u, axis, inner, 0.0f));
        const float dv = pl_sqrt_f32(pl_sum_squares_f32(v, axis, inner, 0.0f));
        const float scale = 1.0f / ((du > eps ? du : eps) * (dv > eps ? dv : eps));
        float sum = 0.0f;
        for (int32_t j = 0; j < axis; j++) {
            sum += u[j * inner] * v[j * inner];
        }
        ((float *)y->data)[k] = sum * scale;
    }
    return pt_finish(c, y, dtype);
}

/* The p-norm of u - v + eps over n elements. */
static float distance(const float *u, const float *v, int32_t n, float p, float eps)
{
    float sum = 0.0f;
    for (int32_t k = 0; k < n; k++) {
        const float d = u[k] - v[k] + eps, size = d < 0.0f ? -d : d;
        if (p == 0.0f) {
            sum += size != 0.0f ? 1.0f : 0.0f;
        } else if (p == pl_inf()) {
            sum = size > sum || size != size ? size : sum;
        } else {
            sum += p == 1.0f ? size : p == 2.0f ? size * size : pl_pow_f32(size, p);
        }
    }
    return p == 2.0f ? pl_sqrt_f32(sum) : p == 0.0f || p == 1.0f || p == pl_inf() ? sum : pl_pow_f32(sum, 1.0f / p);
}

static float exponent(mp_float_t given)
{
    if (given < 0) {
        pt_fail(MP_ERROR_TEXT("cdist only supports non-negative p values"));
    }
    return (float)given;
}

/* (x1, x2, p, eps, keepdim): over the last dimension */
mp_obj_t pt_pairwise_distance(pt_call_t *c)
{
    const int dtype = pt_promote(c->args[0].v.tensor->dtype, c->args[1].v.tensor->dtype);
    const float p = (float)c->args[2].v.f, eps = (float)c->args[3].v.f;
    int32_t sizes[PT_MAX_DIMS];
    if (!pt_is_float(dtype)) { /* the difference of integers wraps around */
        pt_tensor_t *const both[] = {c->args[0].v.tensor, c->args[1].v.tensor};
        c->args[0].v.tensor = pt_apply(&pt_row_sub, 2, both, NULL);
        c->args[1].v.tensor = pt_from_number(MP_OBJ_NEW_SMALL_INT(0), dtype);
    }
    const int ndim = same_shape(c, sizes);
    const int32_t n = ndim ? sizes[ndim - 1] : 1;
    const bool keep = c->args[4].v.i;
    if (ndim) {
        sizes[ndim - 1] = 1;
    }
    pt_tensor_t *y = pt_new(PT_FLOAT32, ndim && !keep ? ndim - 1 : ndim, sizes);
    const float *a = (const float *)c->args[0].v.tensor->data, *b = (const float *)c->args[1].v.tensor->data;
    for (int32_t k = 0, count = pt_numel(y); k < count; k++) {
        ((float *)y->data)[k] = distance(a + k * n, b + k * n, n, p, eps);
    }
    return pt_finish(c, y, pt_is_float(dtype) ? dtype : PT_FLOAT32);
}

/* (x1 (..., p, m), x2 (..., r, m), p, compute_mode) -> (..., p, r) */
mp_obj_t pt_cdist(pt_call_t *c)
{
    pt_tensor_t *x[2] = {c->args[0].v.tensor, c->args[1].v.tensor};
    const int dtype = x[0]->dtype;
    const float p = exponent(c->args[2].v.f);
    int32_t sizes[PT_MAX_DIMS], full[PT_MAX_DIMS];
    pt_tensor_t *batch[2];
    for (int k = 0; k < 2; k++) {
        if (x[k]->ndim < 2) {
            mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("cdist only supports at least 2D tensors, X%d got: %dD"),
                k + 1, (int)x[k]->ndim);
        }
        pt_need_float("cdist", x[k]);
        batch[k] = pt_view(x[k], x[k]->ndim - 2, x[k]->dims, x[k]->dims + x[k]->ndim, 0);
    }
    const int32_t m = x[0]->dims[x[0]->ndim - 1];
    if (x[1]->dims[x[1]->ndim - 1] != m) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("X1 and X2 must have the same number of columns. X1: %d X2: %d"), (int)m,
            (int)x[1]->dims[x[1]->ndim - 1]);
    }
    const int lead = pt_broadcast(2, batch, sizes);
    for (int k = 0; k < 2; k++) {
        memcpy(full, sizes, (size_t)lead * sizeof(int32_t));
        full[lead] = x[k]->dims[x[k]->ndim - 2];
        full[lead + 1] = m;
        c->args[k].v.tensor = pt_contiguous(pt_expand(x[k], lead + 2, full), PT_FLOAT32);
    }
    const int32_t rows = x[0]->dims[x[0]->ndim - 2], columns = x[1]->dims[x[1]->ndim - 2];
    sizes[lead] = rows;
    sizes[lead + 1] = columns;
    pt_tensor_t *y = pt_new(PT_FLOAT32, lead + 2, sizes);
    const float *a = (const float *)c->args[0].v.tensor->data, *b = (const float *)c->args[1].v.tensor->data;
    for (int32_t k = 0, n = pt_numel(y); k < n; k++) {
        const int32_t j = k % columns, row = k / columns;
        ((float *)y->data)[k] = distance(a + row * m, b + (row / rows * columns + j) * m, m, p, 0.0f);
        if ((k & 255) == 255) {
            pt_poll();
        }
    }
    return pt_finish(c, y, dtype);
}

/* (self (n, m), p): the distances of all pairs of rows */
mp_obj_t pt_pdist(pt_call_t *c)
{
    const pt_tensor_t *x = c->args[0].v.tensor;
    const int dtype = x->dtype;
    if (x->ndim != 2) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("pdist only supports 2D tensors, got: %dD"), (int)x->ndim);
    }
    pt_need_float("pdist", x);
    const int32_t n = x->dims[0], m = x->dims[1], pairs = n * (n - 1) / 2;
    const float p = exponent(c->args[1].v.f), *rows = pt_floats(c, 0);
    pt_tensor_t *y = pt_new(PT_FLOAT32, 1, &pairs);
    float *to = (float *)y->data;
    for (int32_t i = 0; i < n; i++) {
        for (int32_t j = i + 1; j < n; j++) {
            *to++ = distance(rows + i * m, rows + j * m, m, p, 0.0f);
        }
        pt_poll();
    }
    return pt_finish(c, y, dtype);
}
