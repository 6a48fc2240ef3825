/* New tensors: constants and ranges. */
#include "dense.h"
#include "wide.h"

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

enum { ZEROS, ONES, GIVEN, LIKE = 4, NEW = 8 };

/* zeros, ones, empty and full, of a size, like a tensor, or of its type; overload->data says which. What PyTorch leaves
 * uninitialized is zero here. */
mp_obj_t pt_do_full(pt_call_t *c)
{
    const int kind = (int)c->overload->data.number;
    const pt_arg_t *arg = c->args;
    const pt_tensor_t *as = kind & (LIKE | NEW) ? arg->v.tensor : c->out;
    arg += kind & NEW ? 1 : 0;
    const int ndim = kind & LIKE ? as->ndim : arg->count;
    const int32_t *sizes = kind & LIKE ? as->dims : arg->v.ints;
    arg++;
    const mp_obj_t value = kind & GIVEN ? (arg++)->object : MP_OBJ_NEW_SMALL_INT(kind & ONES);
    const int dtype = arg->given ? arg->v.dtype : as ? as->dtype : kind & GIVEN ? pt_number_dtype(value) : PT_FLOAT32;
    c->laps = PT_ANYWHERE;
    const bool preserve =
        kind & LIKE && !c->out && c->args[c->overload->count - 1].object != MP_OBJ_FROM_PTR(&pt_contiguous_format);
    pt_tensor_t *t = preserve ? pt_new_as(as, dtype) : pt_result(c, dtype, ndim, sizes);
    pt_fill(t, value);
    return MP_OBJ_FROM_PTR(t);
}

/* arange and range, which has its end (overload->data & 4), of an end (1), a start too (2), a step too (3). */
mp_obj_t pt_do_arange(pt_call_t *c)
{
    const int given = (int)(c->overload->data.number & 3);
    const bool closed = (c->overload->data.number & 4) != 0;
    bool whole = true, known = true; /* not NaN, infinity or beyond int64 */
    mp_float_t f[] = {0, 0, 1};
    int64_t i[] = {0, 0, 1}, length = -1;
    for (int k = 0; k < given; k++) {
        const mp_obj_t number = c->args[k].object;
        const int at = given == 1 ? 1 : k;
        f[at] = mp_obj_get_float(number);
        i[at] = mp_obj_is_float(number) ? pt_whole(f[at]) : pt_int64(number);
        whole = whole && !mp_obj_is_float(number);
        known =
            known && (!mp_obj_is_float(number) || (f[at] >= (mp_float_t)INT64_MIN && f[at] < -(mp_float_t)INT64_MIN));
    }
    const pt_arg_t *chosen = &c->args[given];
    const int type = chosen->given ? chosen->v.dtype
        : c->out                   ? c->out->dtype
        : whole && !closed         ? PT_INT64
                                   : PT_FLOAT32;
    const bool exact = whole || type == PT_INT64; /* numbers of that type lose their fractions before anything else */
    const bool real = pt_is_float(type) && !whole, still = exact ? i[2] == 0 : f[2] == 0;
    if (exact && !still) {
        const bool up = i[2] > 0;
        const uint64_t way = up ? (uint64_t)i[1] - (uint64_t)i[0] : (uint64_t)i[0] - (uint64_t)i[1];
        const uint64_t stride = up ? (uint64_t)i[2] : 0 - (uint64_t)i[2];
        const uint64_t steps = way / stride + (closed || way % stride != 0);
        if (known && (up ? i[1] >= i[0] : i[0] >= i[1])) {
            length = steps > INT32_MAX ? INT32_MAX : (int64_t)steps;
        }
    } else if (!still) {
        const mp_float_t span = (f[1] - f[0]) / f[2];
        if (span >= 0 && span < 2147483648) {
            length = (int32_t)span;
            length += closed || (mp_float_t)(int32_t)length < span;
        }
    }
    if (length < 0) {
        mp_raise_msg_varg(still && !whole ? &mp_type_ValueError : &mp_type_RuntimeError,
            MP_ERROR_TEXT("%q(): bounds and step do not fit"), c->op->name);
    }
    const int32_t n = length > INT32_MAX ? INT32_MAX : (int32_t)length;
    pt_tensor_t *y = pt_new(type, 1, &n);
    for (int32_t k = 0; k < n; k++) {
        const float value = (float)(f[0] + (mp_float_t)k * f[2]);
        pt_store(
            y->data + k * pt_size(type), type, 1, real ? PT_FLOAT32 : PT_INT64, real ? (const void *)&value : i, 1);
        i[0] = (int64_t)((uint64_t)i[0] + (uint64_t)i[2]);
        if (!(k & 1023)) {
            pt_poll();
        }
    }
    if (c->out && pt_numel(c->out) == n) { /* which keeps its shape */
        y = pt_view(y, c->out->ndim, c->out->dims, NULL, 0);
    }
    return pt_finish(c, y, type);
}
