/* Pointwise operators: rows of a table, applied to tensors of any type, strides and broadcast shapes. */
#include "tensor.h"

#include "host.h"

#define SLICE 8192 /* elements between two checks for interrupts */

/* n elements of a row; those of its operands lie one after the other. */
static inline void apply(const pt_pointwise_t *row, int compute, const void *const *x, void *y, int n)
{
#if PT_LOOPS
    (compute == PT_FLOAT32 ? row->f32.row : row->i64)(x, y, n);
#else
    if (compute == PT_FLOAT32 && !(row->flags & PT_ONE)) {
        row->f32.row(x, y, n);
        return;
    }
    int64_t v[PT_OPERANDS + PT_NUMBERS];
    for (int i = 0; i < n; i++) {
        if (compute == PT_FLOAT32) {
            ((float *)y)[i] = row->f32.one(((const float *)x[0])[i]);
            continue;
        }
        for (int k = 0; k < row->arity + row->numbers; k++) {
            v[k] = ((const int64_t *)x[k])[k < row->arity ? i : 0];
        }
        const int64_t r = row->i64(v);
        if (row->result == PT_TO_BOOL) {
            ((uint8_t *)y)[i] = (uint8_t)r;
        } else {
            ((int64_t *)y)[i] = r;
        }
    }
#endif
}

static void run_slices(const pt_pointwise_t *row, int compute, const void *const *from, int count, const int *widths,
    uint8_t *y, int width, int32_t n)
{
    const void *x[PT_OPERANDS + PT_NUMBERS];
    for (int k = 0; k < PT_OPERANDS + PT_NUMBERS; k++) {
        x[k] = from[k];
    }
    for (; n > SLICE; n -= SLICE) {
        apply(row, compute, x, y, SLICE);
        y += SLICE * width;
        for (int k = 0; k < count; k++) {
            x[k] = (const uint8_t *)x[k] + SLICE * widths[k];
        }
        pt_poll();
    }
    apply(row, compute, x, y, (int)n);
}

/* ---- promotion -------------------------------------------------------------------------------------------------- */

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

int pt_result_type(int count, const mp_obj_t *operands)
{
    classes_t classes = {-1, -1, -1};
    for (int k = 0; k < count; k++) {
        if (pt_is_tensor(operands[k])) {
            const pt_tensor_t *t = pt_tensor(operands[k]);
            int *into = t->ndim ? &classes.dims : &classes.zero;
            *into = join(*into, t->dtype);
        } else {
            classes.number = join(classes.number, pt_number_dtype(operands[k]));
        }
    }
    return promoted(&classes);
}

/* The type that a row computes in, given the promoted type of its operands. */
static int compute_type(pt_call_t *c, const pt_pointwise_t *row, int dtype)
{
    if (row->compute == PT_IN_BOOL) {
        return PT_INT64;
    }
    const int compute = row->compute == PT_IN_FLOAT ? PT_FLOAT32 : pt_compute(dtype);
    const bool refused =
        (dtype == PT_BOOL && row->flags & PT_NO_BOOL) || (!pt_is_float(dtype) && row->flags & PT_NO_INTS);
    if (refused || (compute == PT_FLOAT32 ? !row->f32.row : !row->i64)) {
        pt_check_compute(c, refused ? PT_FLOAT32 : compute);
        pt_no_type(c, dtype);
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

/* ---- elements --------------------------------------------------------------------------------------------------- */

/* y = row(x...): operands of `compute` type are used in place, others in chunks. */
static void run(
    const pt_pointwise_t *row, int result, int compute, int count, pt_tensor_t *const *operands, const void **x)
{
    pt_chunk_t chunks[PT_OPERANDS];
    int widths[PT_OPERANDS];
    pt_walk_t w;
    uint32_t done = 0;
    pt_walk(&w, count, operands);
    const int last = w.ndim - 1;
    while (pt_next(&w)) {
        bool direct = operands[0]->dtype == result && (w.steps[0][last] == 1 || w.run == 1);
        for (int k = 1; direct && k < count; k++) {
            direct = operands[k]->dtype == compute && (w.steps[k][last] == 1 || w.run == 1);
            x[k - 1] = w.data[k];
            widths[k - 1] = w.width[k];
        }
        if (direct) {
            run_slices(row, compute, x, count - 1, widths, w.data[0], w.width[0], w.run);
        }
        bool filled[PT_OPERANDS] = {false};
        for (int32_t at = 0; !direct && at < w.run; at += PT_CHUNK) {
            const int n = w.run - at < PT_CHUNK ? (int)(w.run - at) : PT_CHUNK;
            for (int k = 1; k < count; k++) {
                const int32_t step = w.steps[k][last];
                const uint8_t *data = w.data[k] + (ptrdiff_t)at * step * w.width[k];
                if (operands[k]->dtype == compute && step == 1) {
                    x[k - 1] = data;
                } else {
                    x[k - 1] = &chunks[k];
                    if (step != 0 || !filled[k]) {
                        pt_load(data, operands[k]->dtype, step, compute, &chunks[k], n);
                        filled[k] = step == 0 && n == PT_CHUNK;
                    }
                }
            }
            uint8_t *y = w.data[0] + (ptrdiff_t)at * w.steps[0][last] * w.width[0];
            if (operands[0]->dtype == result && w.steps[0][last] == 1) {
                apply(row, compute, x, y, n);
            } else {
                apply(row, compute, x, &chunks[0], n);
                if (result == PT_BOOL) { /* bytes of 0 and 1, to be spread */
                    for (int k = n - 1; k >= 0; k--) {
                        chunks[0].i[k] = ((uint8_t *)&chunks[0])[k];
                    }
                }
                pt_store(
                    y, operands[0]->dtype, w.steps[0][last], result == PT_BOOL ? PT_INT64 : compute, &chunks[0], n);
            }
        }
        done += (uint32_t)w.run;
        if (done > SLICE) {
            done = 0;
            pt_poll();
        }
    }
}

int64_t pt_nonzero(int64_t divisor)
{
    if (divisor == 0) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("ZeroDivisionError"));
    }
    return divisor;
}

#if PT_LOOPS
static void check_zero(pt_tensor_t *divisor)
{
    pt_tensor_t *const operands[] = {divisor};
    pt_chunk_t chunk;
    pt_walk_t w;
    pt_walk(&w, 1, operands);
    while (pt_next(&w)) {
        const int32_t step = w.steps[0][w.ndim - 1];
        for (int32_t at = 0; at < w.run; at += PT_CHUNK) {
            const int n = w.run - at < PT_CHUNK ? (int)(w.run - at) : PT_CHUNK;
            pt_load(w.data[0] + (ptrdiff_t)at * step * w.width[0], divisor->dtype, step, PT_INT64, &chunk, n);
            for (int k = 0; k < n; k++) {
                pt_nonzero(chunk.i[k]);
            }
        }
    }
}
#endif

/* ---- operands --------------------------------------------------------------------------------------------------- */

typedef struct {
    pt_tensor_t tensor;
    int64_t value;
} scalar_t;

/* An operand as the row takes it. PyTorch converts operands to their common type first, which may lose bits. */
static pt_tensor_t *prepare(const pt_pointwise_t *row, mp_obj_t o, int common, scalar_t *scalar)
{
    if (!pt_is_tensor(o)) {
        const int own = pt_number_dtype(o);
        const bool keep = row->flags & PT_WIDE && pt_is_float(common);
        return pt_scalar(&scalar->tensor, &scalar->value, o,
            keep                             ? own
                : row->compute == PT_IN_BOOL ? PT_BOOL
                                             : common);
    }
    pt_tensor_t *t = pt_tensor(o);
    if (row->compute == PT_IN_BOOL) {
        return pt_contiguous(t, PT_BOOL);
    }
    if (t->ndim == 0 && t->dtype != common && !(row->flags & PT_WIDE && pt_is_float(common))) {
        return pt_scalar(&scalar->tensor, &scalar->value, pt_item(t, 0), common);
    }
    return t->dtype >= PT_INT32 && t->dtype <= PT_INT64 && pt_is_float(common) && common != PT_FLOAT32
        ? pt_contiguous(t, common)
        : t;
}

pt_tensor_t *pt_map(pt_call_t *c, const pt_pointwise_t *row, const mp_obj_t *given)
{
    const int arity = row->arity, dtype = pt_result_type(arity, given), compute = compute_type(c, row, dtype);
    const int result = result_type(row, dtype);
    const int common = row->compute == PT_IN_FLOAT && !pt_is_float(dtype) ? PT_FLOAT32 : dtype;
    pt_tensor_t *operands[PT_OPERANDS];
    scalar_t scalars[PT_OPERANDS - 1];
    int64_t numbers[PT_NUMBERS];
    const void *x[PT_OPERANDS + PT_NUMBERS];
    int32_t sizes[PT_MAX_DIMS];
    for (int k = 0; k < arity; k++) {
        operands[k + 1] = prepare(row, given[k], common, &scalars[k]);
    }
    for (int k = 0; k < row->numbers; k++) {
        pt_tensor_t t;
        pt_scalar(&t, &numbers[k], given[arity + k], compute);
        x[arity + k] = &numbers[k];
    }
#if PT_LOOPS
    if (row->flags & PT_NO_ZERO && compute == PT_INT64) {
        check_zero(operands[2]);
    }
#endif
    const int ndim = pt_broadcast(arity, operands + 1, sizes);
    pt_tensor_t *y = operands[0] = pt_result(c, result, ndim, sizes);
    if (y->dtype != result && compute != result && result != PT_BOOL) {
        operands[0] = pt_new(result, ndim, sizes); /* rounded or cut to its own type before that of out= */
    }
    run(row, row->result == PT_TO_BOOL ? PT_BOOL : compute, compute, arity + 1, operands, x);
    if (operands[0] != y) {
        pt_copy_into(y, operands[0]);
    }
    return y;
}

/* ---- the fast path: contiguous tensors of one shape and of the compute type ------------------------------------ */

mp_obj_t pt_quick(const pt_pointwise_t *row, bool in_place, pt_tensor_t *a, pt_tensor_t *b)
{
    const int dtype = a->dtype, ndim = a->ndim;
    if (dtype != b->dtype || ndim != b->ndim || row->numbers) {
        return MP_OBJ_NULL;
    }
    const bool some = dtype == PT_FLOAT32
        ? row->f32.row != NULL
        : dtype == PT_INT64 && row->compute == PT_IN_SAME && !(row->flags & (PT_NO_INTS | PT_NO_ZERO)) && row->i64;
    if (!some || (in_place && (row->result || a->read_only || (a->owner == b->owner && a->data != b->data)))) {
        return MP_OBJ_NULL;
    }
    int32_t n = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        const int32_t size = a->dims[d];
        if (size != b->dims[d] || a->dims[ndim + d] != n || b->dims[ndim + d] != n || size == 0) {
            return MP_OBJ_NULL;
        }
        n *= size;
    }
    pt_tensor_t *out = in_place ? a : pt_new(row->result == PT_TO_BOOL ? PT_BOOL : dtype, ndim, a->dims);
    const void *x[PT_OPERANDS + PT_NUMBERS];
    x[0] = a->data;
    x[1] = b->data;
    if (n <= SLICE) {
        apply(row, dtype, x, out->data, (int)n);
    } else {
        const int widths[] = {pt_size(dtype), pt_size(dtype)};
        run_slices(row, dtype, x, row->arity, widths, out->data, pt_size(out->dtype), n);
    }
    return MP_OBJ_FROM_PTR(out);
}

mp_obj_t pt_pointwise(pt_call_t *c)
{
    const pt_pointwise_t *row = c->overload->data.row;
    mp_obj_t operands[PT_OPERANDS + PT_NUMBERS];
    for (int k = 0; k < row->arity + row->numbers; k++) {
        operands[k] = c->args[k].object;
    }
    return MP_OBJ_FROM_PTR(pt_map(c, row, operands));
}

pt_tensor_t *pt_apply(const pt_pointwise_t *row, int count, pt_tensor_t *const *given, pt_tensor_t *out)
{
    pt_call_t c;
    mp_obj_t operands[PT_OPERANDS];
    c.op = NULL;
    c.overload = NULL;
    c.laps = PT_READ;
    c.out = out;
    c.in_place = false;
    for (int k = 0; k < count; k++) {
        operands[k] = MP_OBJ_FROM_PTR(given[k]);
    }
    return pt_map(&c, row, operands);
}
