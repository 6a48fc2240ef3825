/* Matrix products of views. */
#include "dense.h"

#include "generated/rows.h"
#include "matmul_i64.h"
#include "matmul_wide_f32.h"

/* ---- one matrix ---------------------------------------------------------------------------------------------- */

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2,fma"), flatten)) static void gemm_avx2(
    const pl_matmul_t *s, const float *a, const float *b, float *y)
{
    pl_matmul_wide_f32(s, a, b, y);
}
#endif

static void gemm(const pl_matmul_t *s, const float *a, const float *b, float *y)
{
    #if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        gemm_avx2(s, a, b, y);
        return;
    }
    #endif
    pl_matmul_wide_f32(s, a, b, y);
}

#define POLL_MACS 262144 /* products between two checks for Ctrl-C */

void pt_gemm(const pl_matmul_t *s, const float *a, const float *b, float *y)
{
    const int64_t row = (int64_t)s->k * s->n + 1;
    const int32_t rows = (int32_t)(POLL_MACS / row) & ~3, step = rows > 4 ? rows : 4;
    pl_matmul_t part = *s;
    for (int32_t i = 0; i < s->m; i += step) {
        part.m = s->m - i < step ? s->m - i : step;
        gemm(&part, a + i * s->a_row, b, y + i * s->y_row);
        pt_poll();
    }
}

/* ---- tensors -------------------------------------------------------------------------------------------------- */

/* (k) as (1, k) or (k, 1), anything else as it is. */
static pt_tensor_t *as_matrix(pt_tensor_t *t, bool row)
{
    if (t->ndim != 1) {
        return t;
    }
    const int32_t sizes[] = {row ? 1 : t->dims[0], row ? t->dims[0] : 1};
    const int32_t strides[] = {t->dims[1], t->dims[1]};
    return pt_view(t, 2, sizes, strides, 0);
}

static pt_tensor_t *transposed(pt_tensor_t *t) { return pt_transpose(t, t->ndim - 2, t->ndim - 1); }

/* From one to the next along the last dimension (back 1) or the one before it. The stride of a single row or column can
 * be anything: where there is one, what it would be if the matrix lay in one piece. */
static int32_t stride(const pt_tensor_t *t, int back)
{
    const int32_t *const size = t->dims + t->ndim - back;
    return *size != 1 ? size[t->ndim] : back == 1 ? 1 : size[1];
}

/* Where matrix number `at` of the batch is. */
static int32_t batch_offset(const pt_tensor_t *t, int batch, const int32_t *sizes, int32_t at)
{
    int32_t offset = 0;
    for (int d = batch - 1; d >= 0; d--) {
        const int own = d - (batch - (t->ndim - 2));
        if (own >= 0 && t->dims[own] != 1) {
            offset += at % sizes[d] * t->dims[t->ndim + own];
        }
        at /= sizes[d];
    }
    return offset;
}

/* matmul of arguments 0 and 1, or of views of them, as a new tensor of the compute type. */
static pt_tensor_t *multiply(pt_call_t *c, pt_tensor_t *x, pt_tensor_t *w)
{
    const int compute = pt_compute(x->dtype);
    if (x->ndim == 0 || w->ndim == 0 || w->dtype != x->dtype) {
        pt_refuse(c, x->ndim != 0);
    }
    if (x->dtype == PT_BOOL) {
        pt_no_type(c, PT_BOOL);
    }
    pt_check_compute(c, compute);
    pt_tensor_t *a = as_matrix(x, true), *b = as_matrix(w, false);
    int32_t sizes[PT_MAX_DIMS + 2];
    int batch = 0;
    pl_matmul_t s = {.outer = 1, .inner = 1};
    s.m = a->dims[a->ndim - 2];
    s.k = a->dims[a->ndim - 1];
    s.n = b->dims[b->ndim - 1];
    if (b->dims[b->ndim - 2] != s.k) {
        pt_refuse(c, 1);
    }
    if (a->ndim > 2 || b->ndim > 2) {
        pt_tensor_t *const both[] = {pt_view(a, a->ndim - 2, a->dims, a->dims + a->ndim, 0),
            pt_view(b, b->ndim - 2, b->dims, b->dims + b->ndim, 0)};
        batch = pt_broadcast(2, both, sizes);
    }
    /* the result: without the dimensions that vectors do not have */
    int ndim = batch;
    if (x->ndim > 1) {
        sizes[ndim++] = s.m;
    }
    if (w->ndim > 1) {
        sizes[ndim++] = s.n;
    }
    pt_tensor_t *y = pt_new(compute, ndim, sizes);
    if (pt_numel(y) == 0) {
        return y;
    }
    int32_t matrices = pt_product(y, 0, batch);
    if (s.n == 1) { /* a column: the rows of a are the columns of the product (1, k) (k, m) */
        pt_tensor_t *const swap = a;
        a = transposed(b);
        b = transposed(swap);
        s.n = s.m;
        s.m = 1;
    }
    /* a's rows are runs of neighbours, b's rows or columns are */
    if (a->dtype != compute || stride(a, 1) != 1) {
        a = pt_contiguous(a, compute);
    }
    if (b->dtype != compute || (stride(b, 1) != 1 && stride(b, 2) != 1)) {
        b = pt_contiguous(b, compute);
    }
    if (b->ndim == 2 && pt_is_contiguous(a)) { /* one matrix for all: one product */
        s.m *= matrices;
        matrices = 1;
    }
    s.a_row = s.m == 1 ? 0 : stride(a, 2);
    s.b_row = stride(b, 2);
    s.b_col = stride(b, 1);
    s.y_row = s.n;
    for (int32_t n = 0; n < matrices; n++) {
        const int32_t from_a = batch_offset(a, batch, sizes, n), from_b = batch_offset(b, batch, sizes, n);
        const int32_t to = n * s.m * s.n;
        if (!PT_INTEGERS || compute == PT_FLOAT32) {
            pt_gemm(&s, (const float *)a->data + from_a, (const float *)b->data + from_b, (float *)y->data + to);
        } else {
            pl_matmul_i64(
                &s, (const int64_t *)a->data + from_a, (const int64_t *)b->data + from_b, (int64_t *)y->data + to);
            pt_poll();
        }
    }
    pt_keep(a);
    pt_keep(b);
    return y;
}

/* ---- operators ------------------------------------------------------------------------------------------------- */

/* What a product requires of its operands' dimensions; the order is that of the table in operators/matmul.py. */
static const uint8_t wanted[][2] = {{0, 0}, {2, 2}, {3, 3}, {2, 1}, {1, 1}};

/* matmul, mm, bmm, mv, dot. */
mp_obj_t pt_matmul(pt_call_t *c)
{
    const uint8_t *dims = wanted[c->overload->data.number];
    pt_tensor_t *a = c->args[0].v.tensor, *b = c->args[1].v.tensor;
    if (dims[0] && a->ndim != dims[0]) {
        pt_refuse(c, 0);
    }
    if (dims[0] && (b->ndim != dims[1] || (dims[1] == 3 && a->dims[0] != b->dims[0]))) {
        pt_refuse(c, 1);
    }
    return pt_finish(c, multiply(c, a, b), a->dtype);
}

mp_obj_t pt_outer(pt_call_t *c)
{
    pt_tensor_t *a = c->args[0].v.tensor, *b = c->args[1].v.tensor;
    if (a->ndim != 1 || b->ndim != 1) {
        pt_refuse(c, a->ndim == 1);
    }
    const mp_obj_t both[] = {MP_OBJ_FROM_PTR(as_matrix(a, false)), MP_OBJ_FROM_PTR(b)};
    return MP_OBJ_FROM_PTR(pt_map(c, &pt_row_mul, both));
}

/* (input, weight, bias) */
mp_obj_t pt_linear(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor, *w = c->args[1].v.tensor, *bias = c->args[2].v.tensor;
    const int dtype = x->dtype;
    const bool given = c->args[2].given;
    if (w->ndim != 2 && (w->ndim != 1 || given)) {
        pt_refuse(c, 1);
    }
    pt_tensor_t *y = multiply(c, x, w->ndim == 1 ? w : transposed(w));
    if (given) {
        if (c->out) {
            pt_check_overlap(c->out, bias, false);
        }
        int32_t sizes[PT_MAX_DIMS];
        pt_tensor_t *const both[] = {y, bias->dtype == y->dtype ? bias : pt_contiguous(bias, y->dtype)};
        if (bias->dtype != dtype || pt_broadcast(2, both, sizes) != y->ndim
            || memcmp(sizes, y->dims, (size_t)y->ndim * sizeof(int32_t)) != 0) {
            pt_refuse(c, 2);
        }
        y = pt_apply(&pt_row_add, 2, both, y);
    }
    return pt_finish(c, y, dtype);
}
