/* Pointwise operators: rows of a table, applied to tensors of any type, strides and broadcast shapes. */
#include "tensor.h"

/* Numbers and tensors without dimensions give way to tensors of the same kind. */
typedef struct {
    int dims, zero, number; /* the promoted type of each class of operands; -1: none */
} classes_t;

static int kind(int dtype) { return dtype == PT_BOOL ? 0 : pt_is_float(dtype) ? 2 : 1; }

static int join(int into, int dtype) { return into < 0 ? dtype : pt_promote(into, dtype); }

static int promoted(const classes_t *c)
{
    int result = c->dims;
    if (c->zero >= 0 && (result < 0 || kind(c->zero) > kind(result))) {
        result = join(result, c->zero);
    }
    if (c->number >= 0 && (result < 0 || kind(c->number) > kind(result))) {
        result = join(result, c->number);
    }
    return result;
}

/* y = row(x...): operands of `compute` type are used where they lie, others through chunks. */
static void run(const pt_pointwise_t *row, int compute, int count, pt_tensor_t *const *operands)
{
    const pt_row_t function = compute == PT_FLOAT32 ? row->f32 : row->i64;
    const int result = row->result == PT_TO_BOOL ? PT_BOOL : compute;
    pt_chunk_t chunks[PT_OPERANDS];
    pt_walk_t w;
    pt_walk(&w, count, operands);
    while (pt_next(&w)) {
        const int last = w.ndim - 1;
        const void *x[PT_OPERANDS];
        bool direct = operands[0]->dtype == result && w.steps[0][last] == 1;
        bool filled[PT_OPERANDS] = {false};
        for (int k = 1; k < count; k++) {
            const bool here = operands[k]->dtype == compute && w.steps[k][last] == 1;
            direct = direct && here;
            x[k - 1] = here ? (const void *)w.data[k] : &chunks[k];
        }
        if (direct) {
            function(x, w.data[0], (int)w.run);
            continue;
        }
        for (int32_t at = 0; at < w.run; at += PT_CHUNK) {
            const int n = w.run - at < PT_CHUNK ? (int)(w.run - at) : PT_CHUNK;
            for (int k = 1; k < count; k++) {
                const int32_t step = w.steps[k][last];
                const uint8_t *data = w.data[k] + (ptrdiff_t)at * step * w.width[k];
                if (operands[k]->dtype == compute && step == 1) {
                    x[k - 1] = data;
                } else if (step != 0 || !filled[k]) {
                    pt_load(data, operands[k]->dtype, step, compute, &chunks[k], n);
                    filled[k] = step == 0 && n == PT_CHUNK;
                }
            }
            uint8_t *y = w.data[0] + (ptrdiff_t)at * w.steps[0][last] * w.width[0];
            if (operands[0]->dtype == result && w.steps[0][last] == 1) {
                function(x, y, n);
            } else if (result == PT_BOOL) { /* bytes of 0 and 1, to be spread */
                pt_chunk_t wide;
                uint8_t *bytes = (uint8_t *)&chunks[0];
                function(x, bytes, n);
                for (int k = 0; k < n; k++) {
                    wide.i[k] = bytes[k];
                }
                pt_store(y, operands[0]->dtype, w.steps[0][last], PT_INT64, &wide, n);
            } else {
                function(x, &chunks[0], n);
                pt_store(y, operands[0]->dtype, w.steps[0][last], compute, &chunks[0], n);
            }
        }
    }
}

static void refuse(const pt_pointwise_t *row, int dtype)
{
    (void)row;
    mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("not implemented for '%q'"), pt_dtypes[dtype].name);
}

/* The type that a row computes in, given the promoted type of its operands. */
static int compute_type(const pt_pointwise_t *row, int dtype)
{
    if (row->compute == PT_IN_BOOL) {
        return PT_INT64;
    }
    const int compute = row->compute == PT_IN_FLOAT ? PT_FLOAT32 : pt_compute(dtype);
    if (compute == PT_FLOAT32 ? !row->f32 : !row->i64) {
        refuse(row, dtype);
    }
    return compute;
}

static int result_type(const pt_pointwise_t *row, int dtype)
{
    if (row->result == PT_TO_BOOL) {
        return PT_BOOL;
    }
    return row->compute == PT_IN_FLOAT && !pt_is_float(dtype) ? PT_FLOAT32 : dtype;
}

/* Operands that a row wants as truth values. */
static pt_tensor_t *truth(pt_tensor_t *t) { return t->dtype == PT_BOOL ? t : pt_contiguous(t, PT_BOOL); }

mp_obj_t pt_pointwise(pt_call_t *c)
{
    const pt_pointwise_t *row = c->overload->data.row;
    pt_tensor_t *operands[PT_OPERANDS];
    classes_t classes = {-1, -1, -1};
    int32_t sizes[PT_MAX_DIMS];
    for (int k = 0; k < row->arity; k++) {
        pt_arg_t *arg = &c->args[k];
        if (arg->object != MP_OBJ_NULL && !pt_is_tensor(arg->object)) {
            const int dtype = pt_number_dtype(arg->object);
            operands[k + 1] = pt_from_number(arg->object, dtype);
            classes.number = join(classes.number, dtype);
        } else {
            pt_tensor_t *t = arg->v.tensor;
            operands[k + 1] = row->compute == PT_IN_BOOL ? truth(t) : t;
            if (t->ndim) {
                classes.dims = join(classes.dims, t->dtype);
            } else {
                classes.zero = join(classes.zero, t->dtype);
            }
        }
    }
    const int dtype = promoted(&classes), compute = compute_type(row, dtype);
    const int ndim = pt_broadcast(row->arity, operands + 1, sizes);
    operands[0] = pt_result(c, result_type(row, dtype), ndim, sizes);
    run(row, compute, row->arity + 1, operands);
    return MP_OBJ_FROM_PTR(operands[0]);
}

pt_tensor_t *pt_apply(const pt_pointwise_t *row, int count, pt_tensor_t *const *given, pt_tensor_t *out)
{
    const pt_overload_t overload = {.kernel = pt_pointwise, .data = {.row = row}};
    pt_call_t c = {.overload = &overload, .out = out};
    for (int k = 0; k < count; k++) {
        c.args[k] = (pt_arg_t){.given = true, .object = MP_OBJ_FROM_PTR(given[k]), .v = {.tensor = given[k]}};
    }
    return pt_tensor(pt_pointwise(&c));
}
