/* The walk over lanes that all reductions share. */
#include "reduce.h"

#define PIECE 2048 /* elements between two checks for Ctrl-C */

void pt_plan(pt_plan_t *p, pt_tensor_t *x, uint32_t bits, bool keepdim)
{
    p->x = x;
    p->bits = bits;
    p->lane = 1;
    p->ndim = 0;
    for (int d = 0; d < x->ndim; d++) {
        const bool goes = (bits & 1u << d) != 0;
        p->lane *= goes ? x->dims[d] : 1;
        p->kept[d] = goes ? 1 : x->dims[d];
        if (!goes || keepdim) {
            p->sizes[p->ndim++] = p->kept[d];
        }
    }
}

void pt_some_elements(pt_call_t *c, const pt_plan_t *p, bool by_dim)
{
    if (p->lane) {
        return;
    }
    for (int d = 0; by_dim && d < p->x->ndim; d++) {
        if (p->bits & 1u << d && p->x->dims[d] == 0 && pt_numel(p->x) == 0) {
            for (int k = 0; k < p->ndim; k++) {
                if (p->sizes[k] == 0) {
                    return;
                }
            }
            mp_raise_msg_varg(&mp_type_IndexError,
                MP_ERROR_TEXT("%q(): Expected reduction dim %d to have non-zero size."), c->op->name, d);
        }
    }
    mp_raise_msg_varg(&mp_type_RuntimeError,
        MP_ERROR_TEXT("%q(): Expected reduction dim to be specified for input.numel() == 0."), c->op->name);
}

static void fold(const pt_rule_t *rule, pt_fold_t *s, int compute, const void *x, int n)
{
    if (compute == PT_FLOAT32) {
        rule->f32(s, x, n);
    } else {
        rule->i64(s, x, n);
    }
    s->seen += n;
}

/* One lane: w walks the reduced dimensions. */
static void lane(const pt_rule_t *rule, pt_fold_t *s, pt_walk_t *w, int dtype, int compute, const uint8_t *data)
{
    pt_chunk_t chunk;
    w->started = false;
    w->data[0] = (uint8_t *)data;
    while (pt_next(w)) {
        const int32_t step = w->steps[0][w->ndim - 1];
        const bool direct = dtype == compute && (step == 1 || w->run == 1);
        const int32_t most = direct ? PIECE : PT_CHUNK;
        for (int32_t at = 0; at < w->run; at += most) {
            const int n = w->run - at < most ? (int)(w->run - at) : (int)most;
            const uint8_t *from = w->data[0] + (ptrdiff_t)at * step * w->width[0];
            if (!direct) {
                pt_load(from, dtype, step, compute, &chunk, n);
            }
            fold(rule, s, compute, direct ? (const void *)from : &chunk, n);
            if (s->seen >= PIECE && (s->seen & (PIECE - 1)) < n) {
                pt_poll();
            }
        }
    }
    if (rule->end) {
        rule->end(s);
    }
}

static void store(const pt_rule_t *rule, int k, const pt_fold_t *s, int compute, pt_tensor_t *y, uint8_t *data)
{
    pt_chunk_t one;
    const bool real = compute == PT_FLOAT32 && rule->out[k] == PT_VALUE;
    if (real) {
        one.f[0] = s->f;
    } else {
        one.i[0] = rule->out[k] == PT_INDEX ? s->j : s->i;
    }
    pt_store(data, y->dtype, 1, real ? PT_FLOAT32 : PT_INT64, &one, 1);
}

void pt_reduce(
    const pt_plan_t *p, const pt_rule_t *rule, const pt_fold_t *first, int compute, int count, pt_tensor_t *const *y)
{
    pt_tensor_t *x = p->x, *operands[3], *inner;
    int32_t sizes[PT_MAX_DIMS], strides[PT_MAX_DIMS];
    int ndim = 0;
    for (int d = 0; d < x->ndim; d++) {
        if (p->bits & 1u << d) {
            sizes[ndim] = x->dims[d];
            strides[ndim++] = pt_strides(x)[d];
        }
    }
    inner = pt_view(x, ndim, sizes, strides, 0);
    for (int k = 0; k < count; k++) { /* results with the dimensions of x, reduced ones as 1 */
        int from = 0;
        for (int d = 0; d < x->ndim; d++) {
            const bool there = y[k]->ndim == x->ndim || !(p->bits & 1u << d);
            strides[d] = there ? pt_strides(y[k])[from++] : 0;
        }
        operands[k] = pt_view(y[k], x->ndim, p->kept, strides, 0);
    }
    operands[count] = pt_view(x, x->ndim, p->kept, pt_strides(x), 0);
    pt_walk_t outer, w;
    int32_t budget = 0;
    pt_walk(&outer, count + 1, operands);
    pt_walk(&w, 1, &inner);
    while (pt_next(&outer)) {
        const int last = outer.ndim - 1;
        for (int32_t at = 0; at < outer.run; at++) {
            pt_fold_t s = *first;
            lane(rule, &s, &w, x->dtype, compute,
                outer.data[count] + (ptrdiff_t)at * outer.steps[count][last] * outer.width[count]);
            for (int k = 0; k < count; k++) {
                store(
                    rule, k, &s, compute, y[k], outer.data[k] + (ptrdiff_t)at * outer.steps[k][last] * outer.width[k]);
            }
            if ((budget += p->lane + 8) > PIECE) {
                budget = 0;
                pt_poll();
            }
        }
    }
}
