/* Matrix products: every operator is pt_multiply of views, and sums of that. */
#include "dense.h"

#include "generated/rows.h"
#include "matmul_i64.h"
#include "matmul_wide_f32.h"

/* ---- one matrix ---------------------------------------------------------------------------------------------- */

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2,fma"), flatten)) static void gemm_avx2(const pl_matmul_t *s, const float *a, const float *b,
    float *y)
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

#define POLL_MACS 262144 /* products between two looks at the keyboard */

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

static NORETURN void wrong_shapes(const pt_tensor_t *a, int32_t k, int32_t n)
{
    mp_raise_msg_varg(&mp_type_RuntimeError,
        MP_ERROR_TEXT("mat1 and mat2 shapes cannot be multiplied (%dx%d and %dx%d)"),
        (int)pt_product(a, 0, a->ndim - 1), (int)a->dims[a->ndim - 1], (int)k, (int)n);
}

static void check(const pt_tensor_t *a, const pt_tensor_t *b)
{
    if (a->ndim == 0 || b->ndim == 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("both arguments to matmul need to be at least 1D, but they are %dD and %dD"), (int)a->ndim,
            (int)b->ndim);
    }
    if (a->dtype != b->dtype) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("expected m1 and m2 to have the same dtype, but got: %s != %s"), pt_dtype_name(a->dtype),
            pt_dtype_name(b->dtype));
    }
    if (a->dtype == PT_BOOL) {
        pt_not_implemented("addmm_impl_cpu_", PT_BOOL);
    }
}

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

static int32_t stride(const pt_tensor_t *t, int back) { return t->dims[2 * t->ndim - back]; }

/* Where matrix number `at` of the batch lies. */
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

pt_tensor_t *pt_multiply(pt_tensor_t *x, pt_tensor_t *w)
{
    check(x, w);
    const int compute = pt_compute(x->dtype);
    pt_tensor_t *a = as_matrix(x, true), *b = as_matrix(w, false);
    int32_t sizes[PT_MAX_DIMS + 2];
    int batch = 0;
    pl_matmul_t s = {.outer = 1, .inner = 1};
    s.m = a->dims[a->ndim - 2];
    s.k = a->dims[a->ndim - 1];
    s.n = b->dims[b->ndim - 1];
    if (b->dims[b->ndim - 2] != s.k) {
        wrong_shapes(x, b->dims[b->ndim - 2], s.n);
    }
    if (a->ndim > 2 || b->ndim > 2) {
        pt_tensor_t *const both[] = {
            pt_view(a, a->ndim - 2, a->dims, a->dims + a->ndim, 0),
            pt_view(b, b->ndim - 2, b->dims, b->dims + b->ndim, 0)
        };
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
    for (int32_t at = 0; at < matrices; at++) {
        const int32_t from_a = batch_offset(a, batch, sizes, at), from_b = batch_offset(b, batch, sizes, at);
        const int32_t to = at * s.m * s.n;
        if (compute == PT_FLOAT32) {
            pt_gemm(&s, (const float *)a->data + from_a, (const float *)b->data + from_b, (float *)y->data + to);
        } else {
            pl_matmul_i64(&s, (const int64_t *)a->data + from_a, (const int64_t *)b->data + from_b,
                (int64_t *)y->data + to);
            pt_poll();
        }
    }
    pt_keep(a);
    pt_keep(b);
    return y;
}

/* ---- operators ------------------------------------------------------------------------------------------------- */

/* What a product wants of its operands' dimensions; the order is that of the table in operators/matmul.py. */
static const struct {
    uint8_t a, b;
    const char *wrong;
} wanted[] = {
    {0, 0, NULL}, {2, 2, "self and mat2 must be matrices"}, {3, 3, "batch1 and batch2 must be 3D tensors"},
    {2, 1, "vector + matrix @ vector expected, got other dimensions"}, {1, 1, "1D tensors expected"},
};

static void dimensions(int kind, const pt_tensor_t *a, const pt_tensor_t *b)
{
    if (wanted[kind].a && (a->ndim != wanted[kind].a || b->ndim != wanted[kind].b)) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("%s, but got %dD and %dD tensors"), wanted[kind].wrong,
            (int)a->ndim, (int)b->ndim);
    }
    if (kind == 2 && a->dims[0] != b->dims[0]) {
        pt_fail(MP_ERROR_TEXT("batch1 and batch2 must have same number of batches"));
    }
}

/* matmul, mm, bmm, mv, dot. */
mp_obj_t pt_matmul(pt_call_t *c)
{
    pt_tensor_t *a = c->args[0].v.tensor, *b = c->args[1].v.tensor;
    dimensions((int)c->overload->data.number, a, b);
    return pt_finish(c, pt_multiply(a, b), a->dtype);
}

static bool is_one(mp_obj_t number)
{
    return number == MP_OBJ_NEW_SMALL_INT(1)
        || (mp_obj_is_float(number) && (float)mp_obj_get_float(number) == 1.0f);
}

static bool is_zero(mp_obj_t number)
{
    return number == MP_OBJ_NEW_SMALL_INT(0)
        || (mp_obj_is_float(number) && (float)mp_obj_get_float(number) == 0.0f);
}

static pt_tensor_t *scaled(pt_tensor_t *t, mp_obj_t number)
{
    if (is_one(number)) {
        return t;
    }
    pt_tensor_t *const both[] = {t, pt_from_number(number, pt_compute(t->dtype))};
    return pt_apply(&pt_row_mul, 2, both, NULL);
}

/* beta self + alpha y, where `self` broadcasts to y; a beta of zero hides what self holds. */
static mp_obj_t added(pt_call_t *c, pt_tensor_t *self, pt_tensor_t *y, mp_obj_t beta, mp_obj_t alpha)
{
    int32_t sizes[PT_MAX_DIMS];
    pt_tensor_t *const shapes[] = {self, y};
    if (pt_broadcast(2, shapes, sizes) != y->ndim || memcmp(sizes, y->dims, (size_t)y->ndim * sizeof(int32_t)) != 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("The expanded size of the tensor %s must match the existing size %s"), pt_shape_of(y),
            pt_shape_of(self));
    }
    y = scaled(y, alpha);
    if (!is_zero(beta)) {
        pt_tensor_t *const both[] = {scaled(self->dtype == y->dtype ? self : pt_contiguous(self, y->dtype), beta), y};
        y = pt_apply(&pt_row_add, 2, both, y);
    }
    return pt_finish(c, y, self->dtype);
}

/* addmm, baddbmm: (self, a, b, *, beta, alpha) */
mp_obj_t pt_addmm(pt_call_t *c)
{
    const int kind = (int)c->overload->data.number;
    pt_tensor_t *self = c->args[0].v.tensor, *a = c->args[1].v.tensor, *b = c->args[2].v.tensor;
    dimensions(kind, a, b);
    if (self->dtype != a->dtype) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("self and mat2 must have the same dtype, but got %s and %s"),
            pt_dtype_name(self->dtype), pt_dtype_name(b->dtype));
    }
    pt_tensor_t *y = pt_multiply(a, b);
    return added(c, self, y, c->args[3].object, c->args[4].object);
}

mp_obj_t pt_outer(pt_call_t *c)
{
    pt_tensor_t *a = c->args[0].v.tensor, *b = c->args[1].v.tensor;
    if (a->ndim != 1 || b->ndim != 1) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("outer: Expected 1-D argument %s, but got %d-D"),
            a->ndim != 1 ? "self" : "vec2", (int)(a->ndim != 1 ? a->ndim : b->ndim));
    }
    pt_tensor_t *const both[] = {as_matrix(a, false), b};
    pt_tensor_t *y = pt_apply(&pt_row_mul, 2, both, NULL);
    return pt_finish(c, y, y->dtype);
}

/* (input, weight, bias) */
mp_obj_t pt_linear(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor, *w = c->args[1].v.tensor, *bias = c->args[2].v.tensor;
    const int dtype = x->dtype;
    const bool given = c->args[2].given;
    if (w->ndim != 2 && (w->ndim != 1 || given)) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("linear(): weight must be 1-D or 2-D, but got %dD"),
            (int)w->ndim);
    }
    pt_tensor_t *y = pt_multiply(x, w->ndim == 1 ? w : transposed(w));
    if (given) {
        if (bias->dtype != dtype) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("self and mat2 must have the same dtype, but got %s and %s"),
                pt_dtype_name(bias->dtype), pt_dtype_name(dtype));
        }
        return added(c, bias, y, MP_OBJ_NEW_SMALL_INT(1), MP_OBJ_NEW_SMALL_INT(1));
    }
    return pt_finish(c, y, dtype);
}
