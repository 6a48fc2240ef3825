/* Recurrent cells: two products, then what the compiler's kernels do with the gates. Layers are made of them in Python. */
#include "dense.h"

#include "functions.h"
#include "recurrent_cell_f32.h"

enum { TANH, RELU, GRU, LSTM }; /* overload->data */

static const uint8_t gates_of[] = {1, 1, 3, 4};

typedef struct {
    const float *w_x, *w_h, *b_x, *b_h; /* a bias may be NULL */
    int32_t input, hidden, outputs;     /* outputs: all gates */
} weights_t;

/* y (n, outputs) = x wᵀ + b */
static void project(
    const float *x, int32_t n, int32_t inputs, const float *w, const float *b, int32_t outputs, float *y)
{
    const pl_matmul_t s = {.outer = 1,
        .inner = 1,
        .m = n,
        .k = inputs,
        .n = outputs,
        .a_row = inputs,
        .b_row = 1,
        .b_col = inputs,
        .y_row = outputs};
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

/* Argument k as floats of these sizes, `columns` 0 for a vector. */
static const float *sized(pt_call_t *c, int k, int32_t rows, int32_t columns)
{
    const pt_tensor_t *t = c->args[k].v.tensor;
    if (c->args[k].given
        && (t->dtype != c->args[0].v.tensor->dtype || t->ndim != (columns ? 2 : 1) || t->dims[0] != rows
            || (columns && t->dims[1] != columns))) {
        pt_refuse(c, k);
    }
    return pt_floats(c, k);
}

/* A copy of a state, to be written to. */
static pt_tensor_t *state(pt_call_t *c, mp_obj_t o, int32_t batch, int32_t hidden)
{
    pt_tensor_t *t = pt_tensor(o);
    if (t->dtype != c->args[0].v.tensor->dtype || t->ndim != 2 || t->dims[0] != batch || t->dims[1] != hidden) {
        pt_refuse(c, 1);
    }
    pt_tensor_t *copy = pt_new_like(t, PT_FLOAT32);
    pt_copy_into(copy, t);
    return copy;
}

static pt_tensor_t *as_type(pt_tensor_t *t, int dtype) { return t->dtype == dtype ? t : pt_contiguous(t, dtype); }

/* (input, hx, w_ih, w_hh, b_ih, b_hh) */
mp_obj_t pt_recurrent_cell(pt_call_t *c)
{
    const int kind = (int)c->overload->data.number;
    const pt_tensor_t *x = c->args[0].v.tensor, *w_h = c->args[3].v.tensor;
    const pt_arg_t *hx = &c->args[1];
    const int dtype = x->dtype;
    pt_need_float(c, dtype);
    if (x->ndim != 2 || w_h->ndim != 2) {
        pt_refuse(c, x->ndim == 2 ? 3 : 0);
    }
    if (kind == LSTM && hx->count != 2) {
        pt_refuse(c, 1);
    }
    const int32_t batch = x->dims[0], hidden = w_h->dims[1], outputs = gates_of[kind] * hidden;
    weights_t w = {.input = x->dims[1], .hidden = hidden, .outputs = outputs};
    pt_tensor_t *h = state(c, kind == LSTM ? hx->v.objects[0] : hx->object, batch, hidden);
    pt_tensor_t *cell = kind == LSTM ? state(c, hx->v.objects[1], batch, hidden) : NULL;
    w.w_x = sized(c, 2, outputs, w.input);
    w.w_h = sized(c, 3, outputs, hidden);
    w.b_x = sized(c, 4, outputs, 0);
    w.b_h = sized(c, 5, outputs, 0);
    const size_t scratch = 2 * (size_t)batch * (size_t)outputs;
    float *gates = m_new(float, scratch);
    step(&w, kind, pt_floats(c, 0), batch, (float *)h->data, cell ? (float *)cell->data : NULL, gates);
    m_del(float, gates, scratch);
    h = as_type(h, dtype);
    return kind == LSTM ? pt_pair(h, as_type(cell, dtype)) : MP_OBJ_FROM_PTR(h);
}
