/* New tensors: constants, ranges, the identity. */
#include "shape.h"
#include "wide.h"

#include "functions.h"
#include "half.h"

void pt_fill(pt_tensor_t *t, mp_obj_t value)
{
    pt_tensor_t *number = pt_from_number(value, t->dtype);
    if (!pt_is_contiguous(t)) {
        pt_copy_into(t, number);
        return;
    }
    size_t done = (size_t)pt_size(t->dtype);
    const size_t bytes = done * (size_t)pt_numel(t);
    memcpy(t->data, number->data, bytes ? done : 0);
    for (size_t n; done < bytes; done += n) { /* twice as much each time */
        n = bytes - done < done ? bytes - done : done;
        memcpy(t->data + done, t->data, n);
    }
}

static mp_obj_t filled(pt_tensor_t *t, mp_obj_t value)
{
    pt_fill(t, value);
    return MP_OBJ_FROM_PTR(t);
}

static int chosen(const pt_arg_t *dtype, int other) { return dtype->given ? dtype->v.dtype : other; }

/* zeros, ones and empty: (size, dtype); overload->data is the value. What is left open by PyTorch is zero here. */
mp_obj_t pt_do_zeros(pt_call_t *c)
{
    const pt_arg_t *size = &c->args[0];
    pt_tensor_t *t = pt_result(c, chosen(&c->args[1], c->out ? c->out->dtype : PT_FLOAT32), size->count, size->v.ints);
    return filled(t, MP_OBJ_NEW_SMALL_INT(c->overload->data.number));
}

mp_obj_t pt_do_full(pt_call_t *c)
{
    const pt_arg_t *size = &c->args[0];
    const mp_obj_t value = c->args[1].object;
    const int dtype = chosen(&c->args[2], c->out ? c->out->dtype : pt_number_dtype(value));
    return filled(pt_result(c, dtype, size->count, size->v.ints), value);
}

/* zeros_like, ones_like and empty_like: (self, dtype). */
mp_obj_t pt_do_zeros_like(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    return filled(pt_result(c, chosen(&c->args[1], t->dtype), t->ndim, t->dims),
        MP_OBJ_NEW_SMALL_INT(c->overload->data.number));
}

mp_obj_t pt_do_full_like(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    return filled(pt_result(c, chosen(&c->args[2], t->dtype), t->ndim, t->dims), c->args[1].object);
}

/* new_zeros, new_ones and new_empty: (self, size, dtype). */
mp_obj_t pt_do_new_zeros(pt_call_t *c)
{
    const pt_arg_t *size = &c->args[1];
    return filled(pt_result(c, chosen(&c->args[2], c->args[0].v.tensor->dtype), size->count, size->v.ints),
        MP_OBJ_NEW_SMALL_INT(c->overload->data.number));
}

mp_obj_t pt_do_new_full(pt_call_t *c)
{
    const pt_arg_t *size = &c->args[1];
    return filled(pt_result(c, chosen(&c->args[3], c->args[0].v.tensor->dtype), size->count, size->v.ints),
        c->args[2].object);
}

mp_obj_t pt_do_scalar_tensor(pt_call_t *c)
{
    return filled(pt_result(c, chosen(&c->args[1], PT_FLOAT32), 0, NULL), c->args[0].object);
}

/* empty_strided and new_empty_strided: overload->data is where the sizes are. */
mp_obj_t pt_do_empty_strided(pt_call_t *c)
{
    const int at = (int)c->overload->data.number;
    const pt_arg_t *sizes = &c->args[at], *strides = &c->args[at + 1];
    int64_t elements = 1;
    if (sizes->count != strides->count) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("mismatch in length of strides and shape"));
    }
    for (int d = 0; d < sizes->count; d++) {
        elements += (int64_t)(sizes->v.ints[d] - 1) * strides->v.ints[d];
        if (strides->v.ints[d] < 0 || sizes->v.ints[d] < 0 || elements > INT32_MAX) {
            mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("Storage size calculation overflowed"));
        }
    }
    const int32_t count = elements > 0 ? (int32_t)elements : 0;
    pt_tensor_t *t = pt_new(chosen(&c->args[at + 2], at ? c->args[0].v.tensor->dtype : PT_FLOAT32), 1, &count);
    pt_fill(t, MP_OBJ_NEW_SMALL_INT(0));
    return MP_OBJ_FROM_PTR(pt_view(t, sizes->count, sizes->v.ints, strides->v.ints, 0));
}

mp_obj_t pt_do_fill_diagonal(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    int32_t length = t->ndim ? t->dims[0] : 0, step = 0;
    for (int d = 0; d < t->ndim; d++) {
        if (t->ndim > 2 && t->dims[d] != t->dims[0]) {
            mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("all dimensions of input must be of equal length"));
        }
        length = t->dims[d] < length ? t->dims[d] : length;
        step += pt_strides(t)[d];
    }
    if (t->ndim < 2) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("dimensions must larger than 1"));
    }
    pt_fill(pt_view(t, 1, &length, &step, 0), c->args[1].object);
    if (c->args[2].v.i && t->ndim == 2 && t->dims[0] > t->dims[1] + 1) { /* again below, with a row between */
        const int32_t down = (t->dims[1] + 1) * pt_strides(t)[0];
        for (int32_t row = t->dims[1] + 1; row < t->dims[0]; row += t->dims[1] + 1) {
            const int32_t rest = t->dims[0] - row < t->dims[1] ? t->dims[0] - row : t->dims[1];
            pt_fill(pt_view(t, 1, &rest, &step, row / (t->dims[1] + 1) * down), c->args[1].object);
        }
    }
    return c->args[0].object;
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

static float rounded(float v, int dtype)
{
    return dtype == PT_FLOAT16 ? pl_from_f16(pl_to_f16(v)) : dtype == PT_BFLOAT16 ? pl_from_bf16(pl_to_bf16(v)) : v;
}

static NORETURN void wrong_range(const mp_obj_type_t *error, mp_rom_error_text_t text) { mp_raise_msg(error, text); }

static int64_t integer_of(mp_obj_t o)
{
    if (!mp_obj_is_float(o)) {
        return pt_int64(o);
    }
    const mp_float_t v = mp_obj_get_float(o);
    if (!(v > (mp_float_t)-9e18 && v < (mp_float_t)9e18)) {
        wrong_range(&mp_type_RuntimeError, MP_ERROR_TEXT("unsupported range"));
    }
    return pt_whole(v);
}

/* arange and range, which has its end (overload->data & 4), of an end (1), a start too (2), a step too (3). */
mp_obj_t pt_do_arange(pt_call_t *c)
{
    const int given = (int)(c->overload->data.number & 3);
    const bool closed = (c->overload->data.number & 4) != 0;
    const mp_obj_t ends[] = {given > 1 ? c->args[0].object : MP_OBJ_NEW_SMALL_INT(0),
                             c->args[given > 1 ? 1 : 0].object,
                             given > 2 ? c->args[2].object : MP_OBJ_NEW_SMALL_INT(1)};
    bool whole = true;
    mp_float_t f[3];
    int64_t i[3] = {0}, length;
    for (int k = 0; k < 3; k++) {
        whole = whole && !mp_obj_is_float(ends[k]);
        f[k] = mp_obj_get_float(ends[k]);
    }
    const int type = chosen(&c->args[given], c->out ? c->out->dtype : whole && !closed ? PT_INT64 : PT_FLOAT32);
    const bool exact = whole || type == PT_INT64; /* numbers of that type lose their fractions before anything else */
    for (int k = 0; k < 3 && (exact || !pt_is_float(type)); k++) {
        i[k] = integer_of(ends[k]);
    }
    if (exact ? i[2] == 0 : f[2] == 0) {
        wrong_range(whole ? &mp_type_RuntimeError : &mp_type_ValueError, MP_ERROR_TEXT("step must be nonzero"));
    }
    if (exact) {
        const bool up = i[2] > 0;
        const int64_t way = up ? i[1] - i[0] : i[0] - i[1], stride = up ? i[2] : -i[2];
        length = way < 0 ? -1 : way / stride + (closed || way % stride != 0);
    } else {
        const mp_float_t span = (f[1] - f[0]) / f[2];
        if (!(span > -2147483648 && span < 2147483648)) {
            wrong_range(&mp_type_RuntimeError, MP_ERROR_TEXT("unsupported range"));
        }
        length = span < 0 ? -1 : (int32_t)span;
        length += span >= 0 && (closed || (mp_float_t)(int32_t)length < span);
    }
    if (length < 0) {
        wrong_range(&mp_type_RuntimeError, MP_ERROR_TEXT("upper bound and lower bound inconsistent with step sign"));
    }
    const int32_t n = length > INT32_MAX ? INT32_MAX : (int32_t)length;
    pt_tensor_t *y = pt_result(c, type, 1, &n);
    for (int32_t k = 0; k < n; k++) {
        const bool real = pt_is_float(type) && !whole;
        const int64_t at = (int64_t)((uint64_t)i[0] + (uint64_t)k * (uint64_t)i[2]);
        const float value = real ? (float)(f[0] + (mp_float_t)k * f[2]) : 0.0f;
        const void *from = real ? (const void *)&value : &at;
        uint8_t *to = y->data + (ptrdiff_t)k * pt_strides(y)[0] * pt_size(y->dtype);
        pt_store(to, y->dtype, 1, real ? PT_FLOAT32 : PT_INT64, from, 1);
        if (!(k & 1023)) {
            pt_poll();
        }
    }
    return MP_OBJ_FROM_PTR(y);
}

/* A number, or the element of a tensor without dimensions. */
static mp_obj_t end_point(pt_call_t *c, int k)
{
    if (!pt_is_tensor(c->args[k].object)) {
        return c->args[k].object;
    }
    if (c->args[k].v.tensor->ndim) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("%q only supports 0-dimensional start and end tensors"), c->op->name);
    }
    return pt_item(c->args[k].v.tensor, 0);
}

/* linspace (overload->data 0) and logspace (1): from both ends to the middle, as PyTorch rounds them. */
mp_obj_t pt_do_linspace(pt_call_t *c)
{
    const bool powers = c->overload->data.number == 1;
    const mp_obj_t start = end_point(c, 0), end = end_point(c, 1);
    const int64_t steps = c->args[2].v.i;
    if (steps < 0) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("number of steps must be non-negative"));
    }
    const int32_t n = steps > INT32_MAX ? INT32_MAX : (int32_t)steps;
    pt_tensor_t *y = pt_result(c, chosen(&c->args[powers ? 4 : 3], c->out ? c->out->dtype : PT_FLOAT32), 1, &n);
    const bool whole = !pt_is_float(y->dtype);
    float a = rounded((float)mp_obj_get_float(start), y->dtype), b = rounded((float)mp_obj_get_float(end), y->dtype);
    if (whole) {
        a = pt_to_float(pt_to_int(a));
        b = pt_to_float(pt_to_int(b));
    }
    const float step = n > 1 ? rounded(rounded(b - a, y->dtype) / (float)(n - 1), y->dtype) : 0.0f;
    const mp_float_t wide = n > 1 ? ((mp_float_t)b - (mp_float_t)a) / (mp_float_t)(n - 1) : 0; /* PyTorch's for integers */
    const float base = powers ? (float)c->args[3].v.f : 1.0f;
    for (int32_t k = 0; k < n; k++) {
        pt_chunk_t one;
        const bool front = k < n / 2 || n == 1;
        const float way = rounded(step * (float)(front ? k : n - k - 1), y->dtype);
        one.f[0] = rounded(front ? a + way : b - way, y->dtype);
        if (powers) {
            one.f[0] = pl_pow_f32(base, one.f[0]);
        } else if (whole) {
            one.i[0] = pt_whole(front ? (mp_float_t)a + wide * (mp_float_t)k : (mp_float_t)b - wide * (mp_float_t)(n - k - 1));
        }
        pt_store(y->data + (ptrdiff_t)k * pt_strides(y)[0] * pt_size(y->dtype), y->dtype, 1,
            whole && !powers ? PT_INT64 : PT_FLOAT32, &one, 1);
    }
    return MP_OBJ_FROM_PTR(y);
}

/* eye: (n, dtype) or, with overload->data 1, (n, m, dtype). */
mp_obj_t pt_do_eye(pt_call_t *c)
{
    const int m = (int)c->overload->data.number;
    const int64_t rows = c->args[0].v.i, columns = c->args[m].v.i;
    if (rows < 0 || columns < 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("%s must be greater or equal to 0, got %d"),
            rows < 0 ? "n" : "m", (int)(rows < 0 ? rows : columns));
    }
    const int32_t sizes[] = {rows > INT32_MAX ? INT32_MAX : (int32_t)rows,
                             columns > INT32_MAX ? INT32_MAX : (int32_t)columns};
    pt_tensor_t *y = pt_result(c, chosen(&c->args[m + 1], c->out ? c->out->dtype : PT_FLOAT32), 2, sizes);
    pt_fill(y, MP_OBJ_NEW_SMALL_INT(0));
    pt_fill(pt_diagonal(y, 0, 0, 1), MP_OBJ_NEW_SMALL_INT(1));
    return MP_OBJ_FROM_PTR(y);
}
