/* Scaled dot product attention. */
#include "dense.h"
#include "packed.h"

#include "functions.h"
#include "attention_f32.h"
#include "sqrt_f32.h"

/* Dimension `back` from the end: its size, or 1 if there is none. */
static int32_t size(const pt_tensor_t *t, int back) { return t->ndim >= back ? t->dims[t->ndim - back] : 1; }

/* The stride along it; 0 if one element stands for all. */
static int32_t step(const pt_tensor_t *t, int back) { return size(t, back) == 1 ? 0 : t->dims[2 * t->ndim - back]; }

/* Argument k as floats whose rows are runs of neighbours, as (batch, heads, rows, width). */
static const pt_tensor_t *rows(pt_call_t *c, int k)
{
    pt_tensor_t *t = c->args[k].v.tensor;
    if (t->ndim < 2) {
        pt_refuse(c, k);
    }
    if (t->dtype != PT_FLOAT32 || t->ndim > 4 || step(t, 1) != 1) {
        t = pt_elements(c, k, PT_FLOAT32);
    }
    if (t->ndim > 4) {
        const int n = t->ndim;
        const int32_t sizes[] = {pt_product(t, 0, n - 3), t->dims[n - 3], t->dims[n - 2], t->dims[n - 1]};
        t = pt_view(t, 4, sizes, NULL, 0);
        c->args[k].v.tensor = t;
    }
    return t;
}

/* The mask, expanded to the scores if it has more dimensions than the kernel takes. */
static pt_tensor_t *mask_of(pt_call_t *c, const pl_attention_t *s, int dtype, int ndim, int32_t *sizes)
{
    pt_tensor_t *mask = c->args[3].v.tensor;
    if (mask->dtype != PT_BOOL && mask->dtype != dtype) {
        pt_refuse(c, 3);
    }
    if (mask->dtype != PT_BOOL) {
        mask = pt_elements(c, 3, PT_FLOAT32);
    }
    if (ndim > 4 && mask->ndim > 3) {
        sizes[ndim - 1] = s->keys;
        pt_tensor_t *full = pt_contiguous(pt_expand(mask, ndim, sizes), mask->dtype);
        const int32_t flat[] = {s->batch, s->heads, s->rows, s->keys};
        mask = pt_view(full, 4, flat, NULL, 0);
    }
    const int32_t wanted[] = {s->keys, s->rows, s->heads, s->batch};
    for (int back = 1; back <= 4; back++) {
        if (size(mask, back) != 1 && size(mask, back) != wanted[back - 1]) {
            pt_refuse(c, 3);
        }
    }
    c->args[3].v.tensor = mask;
    return mask;
}

static void shape(pt_call_t *c, pl_attention_t *s, const pt_tensor_t *q, const pt_tensor_t *k, const pt_tensor_t *v)
{
    s->batch = size(q, 4);
    s->heads = size(q, 3);
    s->kv_heads = size(k, 3);
    s->rows = size(q, 2);
    s->keys = size(k, 2);
    s->width = size(q, 1);
    s->depth = size(v, 1);
    if (q->ndim == 3) { /* (batch, rows, width) */
        s->kv_heads = s->heads;
    }
    const bool batches = (size(k, 4) == s->batch || size(k, 4) == 1) && (size(v, 4) == s->batch || size(v, 4) == 1);
    const bool heads = size(v, 3) == size(k, 3)
        && (s->kv_heads == s->heads || s->kv_heads == 1 || (c->args[7].v.i && s->heads % s->kv_heads == 0));
    if (size(k, 1) != s->width || size(v, 2) != s->keys || !batches || (!heads && q->ndim != 3)
        || (q->ndim == 3 && (size(k, 3) != s->heads || size(v, 3) != s->heads))) {
        pt_refuse(c, 1);
    }
    s->q_row = step(q, 2);
    s->k_row = step(k, 2);
    s->v_row = step(v, 2);
    s->y_row = s->depth;
    s->causal = (int32_t)c->args[5].v.i;
    s->scale = c->args[6].given ? (float)c->args[6].v.f : 1.0f / pl_sqrt_f32((float)s->width);
}

/* Step by step, in Python. */
static mp_obj_t with_dropout(pt_call_t *c)
{
    mp_obj_t args[11];
    for (int k = 0; k < 5; k++) {
        args[k] = c->args[k].object;
    }
    args[5] = mp_obj_new_bool(c->args[5].v.i);
    args[6] = mp_const_none;
    args[7] = MP_OBJ_NEW_QSTR(MP_QSTR_scale);
    args[8] = c->args[6].object;
    args[9] = MP_OBJ_NEW_QSTR(MP_QSTR_enable_gqa);
    args[10] = mp_obj_new_bool(c->args[7].v.i);
    size_t count;
    mp_obj_t *items;
    const mp_obj_t pair = pt_call_packed(MP_QSTR__scaled_dot_product_attention_math, 7, 2, args);
    if (pair == MP_OBJ_NULL) {
        pt_refuse(c, 4);
    }
    mp_obj_get_array(pair, &count, &items);
    return items[0];
}

/* (query, key, value, attn_mask, dropout_p, is_causal, *, scale, enable_gqa) */
mp_obj_t pt_attention(pt_call_t *c)
{
    const pt_tensor_t *given = c->args[0].v.tensor;
    const int dtype = given->dtype, ndim = given->ndim;
    int32_t sizes[PT_MAX_DIMS];
    pl_attention_t s = {0};
    memcpy(sizes, given->dims, (size_t)ndim * sizeof(int32_t));
    if (c->args[1].v.tensor->dtype != dtype || c->args[2].v.tensor->dtype != dtype) {
        pt_refuse(c, c->args[1].v.tensor->dtype != dtype ? 1 : 2);
    }
    pt_need_float(c, dtype);
    if (c->args[3].given && c->args[5].v.i) {
        pt_refuse(c, 3);
    }
    if (c->args[4].v.f > 0) {
        return with_dropout(c);
    }
    const pt_tensor_t *q = rows(c, 0), *k = rows(c, 1), *v = rows(c, 2);
    shape(c, &s, q, k, v);
    const pt_tensor_t *mask = c->args[3].given ? mask_of(c, &s, dtype, ndim, sizes) : NULL;
    s.m_row = mask ? step(mask, 2) : 0;
    s.m_key = mask ? step(mask, 1) : 0;
    sizes[ndim - 1] = s.depth;
    pt_tensor_t *y = pt_new(PT_FLOAT32, ndim, sizes);
    float *scores = m_new(float, (size_t)s.keys);
    pl_attention_t one = s;
    one.batch = one.heads = one.kv_heads = 1;
    for (int32_t at = 0; at < s.batch * s.heads; at++) {
        const int32_t b = at / s.heads, h = at % s.heads, kv = h / (s.heads / s.kv_heads);
        const ptrdiff_t m = mask ? b * step(mask, 4) + h * step(mask, 3) : 0;
        pl_attention_f32(&one, (const float *)q->data + b * step(q, 4) + h * step(q, 3),
            (const float *)k->data + b * step(k, 4) + kv * step(k, 3),
            (const float *)v->data + b * step(v, 4) + kv * step(v, 3),
            mask && mask->dtype != PT_BOOL ? (const float *)mask->data + m : NULL,
            mask && mask->dtype == PT_BOOL ? mask->data + m : NULL, scores, (float *)y->data + at * s.rows * s.depth);
        pt_poll();
    }
    m_del(float, scores, (size_t)s.keys);
    return pt_finish(c, y, dtype);
}
