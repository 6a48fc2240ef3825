/* Recurrent layers and cells: two products a step, then what the compiler's kernels do with the gates. */
#include "dense.h"

#include "functions.h"
#include "recurrent_cell_f32.h"

enum { TANH, RELU, GRU, LSTM }; /* overload->data */

static const uint8_t gates_of[] = {1, 1, 3, 4};

/* The weights of one layer and direction, as floats; a bias may be NULL. */
typedef struct {
    const float *w_x, *w_h, *b_x, *b_h;
    int32_t input, hidden, outputs; /* outputs: all gates */
} weights_t;

static NORETURN void wrong(const pt_tensor_t *t)
{
    mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("a tensor of size %s does not fit the recurrent layer"),
        pt_shape_of(t));
}

static pt_tensor_t *need(mp_obj_t o, int ndim)
{
    if (!pt_is_tensor(o)) {
        mp_raise_msg(&mp_type_TypeError, MP_ERROR_TEXT("recurrent layers take tensors"));
    }
    pt_tensor_t *t = pt_tensor(o);
    if (t->ndim != ndim) {
        wrong(t);
    }
    pt_need_float("recurrent layers", t);
    return pt_contiguous(t, PT_FLOAT32);
}

/* `kept` holds the copies, if any had to be made, where the garbage collector sees them. */
static void read_weights(weights_t *w, int kind, const mp_obj_t *params, bool biases, pt_tensor_t **kept)
{
    kept[0] = need(params[0], 2);
    kept[1] = need(params[1], 2);
    w->input = kept[0]->dims[1];
    w->hidden = kept[1]->dims[1];
    w->outputs = gates_of[kind] * w->hidden;
    for (int k = 0; k < 2; k++) {
        if (kept[k]->dims[0] != w->outputs) {
            wrong(kept[k]);
        }
    }
    for (int k = 2; k < 4; k++) {
        kept[k] = biases && params[k] != mp_const_none ? need(params[k], 1) : NULL;
        if (kept[k] && kept[k]->dims[0] != w->outputs) {
            wrong(kept[k]);
        }
    }
    w->w_x = (const float *)kept[0]->data;
    w->w_h = (const float *)kept[1]->data;
    w->b_x = kept[2] ? (const float *)kept[2]->data : NULL;
    w->b_h = kept[3] ? (const float *)kept[3]->data : NULL;
}

/* y (n, outputs) = x wᵀ + b */
static void project(const float *x, int32_t n, int32_t inputs, const float *w, const float *b, int32_t outputs, float *y)
{
    const pl_matmul_t s = {.outer = 1, .inner = 1, .m = n, .k = inputs, .n = outputs, .a_row = inputs, .b_row = 1,
                           .b_col = inputs, .y_row = outputs};
    pt_gemm(&s, x, w, y);
    for (int32_t k = 0; b && k < n * outputs; k++) {
        y[k] += b[k % outputs];
    }
}

/* One step of a batch: x (batch, input); h and c (batch, hidden) in place; gates (2, batch, outputs) is scratch. */
static void step(const weights_t *w, int kind, const float *x, int32_t batch, float *h, float *c, float *gates)
{
    const int32_t all = batch * w->outputs;
    float *again = gates + all;
    project(x, batch, w->input, w->w_x, w->b_x, w->outputs, gates);
    project(h, batch, w->hidden, w->w_h, w->b_h, w->outputs, again);
    for (int32_t k = 0; kind != GRU && k < all; k++) {
        gates[k] += again[k];
    }
    for (int32_t n = 0; n < batch; n++, gates += w->outputs, again += w->outputs, h += w->hidden) {
        if (kind == LSTM) {
            pl_lstm_cell_f32(gates, c + n * w->hidden, h, w->hidden);
        } else if (kind == GRU) {
            pl_gru_cell_f32(gates, again, h, h, w->hidden);
        } else {
            pl_rnn_cell_f32(gates, w->hidden, kind == RELU);
            memcpy(h, gates, (size_t)w->hidden * sizeof(float));
        }
    }
}

/* A float copy of a state, to be written to. */
static pt_tensor_t *state(mp_obj_t o, int ndim)
{
    pt_tensor_t *t = need(o, ndim), *copy = pt_new_like(t, PT_FLOAT32);
    pt_copy_into(copy, t);
    return copy;
}

static pt_tensor_t *as_type(pt_tensor_t *t, int dtype) { return t->dtype == dtype ? t : pt_contiguous(t, dtype); }

/* The states that a kind has: one tensor, or a list of two. */
static void states(pt_call_t *c, int kind, int k, int ndim, pt_tensor_t **h, pt_tensor_t **cell)
{
    const pt_arg_t *hx = &c->args[k];
    if (kind == LSTM && hx->count != 2) {
        pt_fail(MP_ERROR_TEXT("lstm expects two hidden states"));
    }
    *h = state(kind == LSTM ? hx->v.objects[0] : hx->object, ndim);
    *cell = kind == LSTM ? state(hx->v.objects[1], ndim) : NULL;
    if (*cell && memcmp((*cell)->dims, (*h)->dims, (size_t)ndim * sizeof(int32_t)) != 0) {
        wrong(*cell);
    }
}

/* One layer in one direction: x (steps, batch, input) -> y (steps, batch, width) from column `at` on. */
static void layer(const weights_t *w, int kind, const float *x, int32_t steps, int32_t batch, bool reverse, float *h,
    float *c, float *y, int32_t width, int32_t at)
{
    float *gates = m_new(float, 2 * (size_t)batch * (size_t)w->outputs);
    for (int32_t k = 0; k < steps; k++) {
        const int32_t t = reverse ? steps - 1 - k : k;
        step(w, kind, x + t * batch * w->input, batch, h, c, gates);
        for (int32_t n = 0; n < batch; n++) {
            memcpy(y + (t * batch + n) * width + at, h + n * w->hidden, (size_t)w->hidden * sizeof(float));
        }
        pt_poll();
    }
    m_del(float, gates, 2 * (size_t)batch * (size_t)w->outputs);
}

/* (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first) */
mp_obj_t pt_recurrent(pt_call_t *c)
{
    const int kind = (int)c->overload->data.number, dtype = c->args[0].v.tensor->dtype;
    const bool biases = c->args[3].v.i, first = c->args[8].v.i;
    const int layers = (int)c->args[4].v.i, directions = c->args[7].v.i ? 2 : 1, each = biases ? 4 : 2;
    pt_tensor_t *x = c->args[0].v.tensor, *h, *cell, *kept[4];
    if (c->args[6].v.i && c->args[5].v.f > 0 && layers > 1) {
        mp_raise_NotImplementedError(MP_ERROR_TEXT("dropout between recurrent layers in training"));
    }
    if (x->ndim != 3) {
        wrong(x);
    }
    x = need(MP_OBJ_FROM_PTR(first ? pt_transpose(x, 0, 1) : x), 3);
    states(c, kind, 1, 3, &h, &cell);
    if (c->args[2].count != layers * directions * each) {
        mp_raise_NotImplementedError(MP_ERROR_TEXT("recurrent layers with projections"));
    }
    const int32_t steps = x->dims[0], batch = x->dims[1], hidden = h->dims[2];
    if (h->dims[0] != layers * directions || h->dims[1] != batch) {
        wrong(h);
    }
    for (int k = 0; k < layers; k++) {
        const int32_t sizes[] = {steps, batch, directions * hidden};
        pt_tensor_t *y = pt_new(PT_FLOAT32, 3, sizes);
        for (int d = 0; d < directions; d++) {
            const int number = k * directions + d;
            const int32_t own = number * batch * hidden;
            weights_t w;
            read_weights(&w, kind, c->args[2].v.objects + number * each, biases, kept);
            if (w.input != x->dims[2] || w.hidden != hidden) {
                wrong(w.input != x->dims[2] ? x : h);
            }
            layer(&w, kind, (const float *)x->data, steps, batch, d, (float *)h->data + own,
                cell ? (float *)cell->data + own : NULL, (float *)y->data, directions * hidden, d * hidden);
            for (int j = 0; j < 4; j++) {
                pt_keep(kept[j]);
            }
        }
        x = y;
    }
    x = as_type(x, dtype);
    const mp_obj_t results[] = {
        MP_OBJ_FROM_PTR(first ? pt_transpose(x, 0, 1) : x), MP_OBJ_FROM_PTR(as_type(h, dtype)),
        cell ? MP_OBJ_FROM_PTR(as_type(cell, dtype)) : mp_const_none
    };
    return mp_obj_new_tuple(kind == LSTM ? 3 : 2, results);
}

/* (input, hx, w_ih, w_hh, b_ih, b_hh) */
mp_obj_t pt_recurrent_cell(pt_call_t *c)
{
    const int kind = (int)c->overload->data.number, dtype = c->args[0].v.tensor->dtype;
    pt_tensor_t *x = need(MP_OBJ_FROM_PTR(c->args[0].v.tensor), 2), *h, *cell, *kept[4];
    mp_obj_t params[4];
    weights_t w;
    for (int k = 0; k < 4; k++) {
        params[k] = c->args[2 + k].given ? c->args[2 + k].object : mp_const_none;
    }
    states(c, kind, 1, 2, &h, &cell);
    read_weights(&w, kind, params, true, kept);
    if (w.input != x->dims[1] || h->dims[0] != x->dims[0] || h->dims[1] != w.hidden) {
        wrong(w.input != x->dims[1] ? x : h);
    }
    const size_t scratch = 2 * (size_t)x->dims[0] * (size_t)w.outputs;
    float *gates = m_new(float, scratch);
    step(&w, kind, (const float *)x->data, x->dims[0], (float *)h->data, cell ? (float *)cell->data : NULL, gates);
    m_del(float, gates, scratch);
    pt_keep(x);
    for (int j = 0; j < 4; j++) {
        pt_keep(kept[j]);
    }
    h = as_type(h, dtype);
    return kind == LSTM ? pt_pair(h, as_type(cell, dtype)) : MP_OBJ_FROM_PTR(h);
}
