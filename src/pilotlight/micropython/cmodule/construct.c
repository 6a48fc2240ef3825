/* Tensors from Python's data: torch.tensor, as_tensor, asarray, Tensor(...), Parameter(...) and frombuffer. */
#include "construct.h"
#include "wide.h"

#include "py/binary.h"
#include "py/stackctrl.h"

/* ---- Python's sequences ---------------------------------------------------------------------------------------- */

static bool is_text(mp_obj_t o) { return mp_obj_is_str(o) || mp_obj_is_type(o, &mp_type_bytes); }

/* Lists, tuples, ranges, arrays, bytearrays, objects with a length and items. */
bool pt_length(mp_obj_t o, size_t *length)
{
    mp_obj_t *items;
    if (pt_sequence(o, length, &items)) {
        return true;
    }
    if (pt_number_dtype(o) >= 0 || pt_is_tensor(o) || is_text(o) || mp_obj_is_dict_or_ordereddict(o)
        || !MP_OBJ_TYPE_HAS_SLOT(mp_obj_get_type(o), subscr)) {
        return false;
    }
    const mp_obj_t n = mp_obj_len_maybe(o);
    *length = n == MP_OBJ_NULL ? 0 : (size_t)mp_obj_get_int(n);
    return n != MP_OBJ_NULL;
}

static mp_obj_t item_of(mp_obj_t o, size_t k)
{
    size_t n;
    mp_obj_t *items;
    if (!pt_sequence(o, &n, &items)) {
        return mp_obj_subscr(o, MP_OBJ_NEW_SMALL_INT((mp_int_t)k), MP_OBJ_SENTINEL);
    }
    if (k >= n) { /* an item's own methods have changed the list */
        mp_raise_ValueError(MP_ERROR_TEXT("the sequence changed its length"));
    }
    return items[k];
}

/* The type of the elements of an array, -1 if tensors do not have that type. */
static int array_dtype(mp_obj_t o, mp_buffer_info_t *info)
{
    if (!mp_obj_is_obj(o) || is_text(o) || pt_is_tensor(o) || !mp_get_buffer(o, info, MP_BUFFER_READ)) {
        return -1;
    }
    if (info->typecode == BYTEARRAY_TYPECODE) {
        return PT_UINT8;
    }
    if (info->typecode == 'l') {
        return sizeof(long) == 8 ? PT_INT64 : PT_INT32;
    }
    for (int k = PT_UINT8; k < PT_DTYPES; k++) {
        if (pt_dtypes[k].code == info->typecode && k != PT_FLOAT16 && k != PT_BFLOAT16) {
            return k;
        }
    }
    return -1;
}

static int infer(mp_obj_t o)
{
    size_t n;
    mp_buffer_info_t info;
    MP_STACK_CHECK();
    if (pt_is_tensor(o)) {
        return pt_tensor(o)->dtype;
    }
    int dtype = pt_number_dtype(o);
    if (dtype >= 0) {
        return dtype;
    }
    if (is_text(o)) {
        mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("new(): invalid data type '%s'"), mp_obj_get_type_str(o));
    }
    if (!pt_length(o, &n)) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("Could not infer dtype of %s"), mp_obj_get_type_str(o));
    }
    const int array = array_dtype(o, &info);
    if (array >= 0 && n > 0) {
        return pt_compute(array);
    }
    for (size_t k = 0; k < n; k++) {
        const int own = infer(item_of(o, k));
        dtype = dtype < 0 ? own : pt_promote(dtype, own);
    }
    return dtype < 0 ? PT_FLOAT32 : dtype;
}

/* ---- numbers into elements ------------------------------------------------------------------------------------- */

static int64_t checked_int(mp_obj_t o)
{
    #if MICROPY_LONGINT_IMPL != MICROPY_LONGINT_IMPL_NONE
    if (!mp_obj_is_small_int(o)) {
        byte bytes[9]; /* one extra, for the sign */
        const byte sign = mp_obj_int_sign(o) < 0 ? 0xff : 0;
        if (!mp_obj_int_to_bytes_impl(o, false, sizeof(bytes), bytes) || bytes[8] != sign || (bytes[7] ^ sign) & 0x80) {
            mp_raise_ValueError(MP_ERROR_TEXT("Overflow when unpacking long long"));
        }
    }
    #endif
    return pt_int64(o);
}

void pt_store_number(mp_obj_t o, int dtype, uint8_t *to, const char *suffix)
{
    pt_chunk_t chunk;
    int compute = pt_compute(dtype);
    if (pt_is_tensor(o)) {
        if (pt_numel(pt_tensor(o)) != 1) {
            mp_raise_ValueError(MP_ERROR_TEXT("only one element tensors can be converted to Python scalars"));
        }
        o = pt_item(pt_tensor(o), 0);
    }
    const int own = pt_number_dtype(o);
    if (own < 0) {
        mp_raise_msg_varg(&mp_type_TypeError,
            compute == PT_FLOAT32 ? MP_ERROR_TEXT("must be real number, not %s")
                                  : MP_ERROR_TEXT("'%s' object cannot be interpreted as an integer"),
            mp_obj_get_type_str(o));
    }
    if (compute == PT_FLOAT32) {
        chunk.f[0] = (float)mp_obj_get_float(o);
    } else if (dtype == PT_BOOL) {
        chunk.i[0] = mp_obj_is_true(o);
    } else {
        const int bits = 8 * pt_size(dtype) - (dtype != PT_UINT8);
        const int64_t high = (int64_t)(UINT64_MAX >> (64 - bits)), low = dtype == PT_UINT8 ? -high : -high - 1;
        bool fits;
        if (own == PT_FLOAT32) {
            const mp_float_t x = mp_obj_get_float(o);
            fits = x >= pt_number(low) && x <= pt_number(high);
            chunk.i[0] = fits ? pt_whole(x) : 0;
        } else {
            chunk.i[0] = own == PT_BOOL ? mp_obj_is_true(o) : checked_int(o);
            fits = chunk.i[0] >= low && chunk.i[0] <= high;
        }
        if (!fits) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("value cannot be converted to type %q%s without overflow"),
                dtype == PT_INT32 && *suffix ? MP_QSTR_int : pt_dtypes[dtype].name, dtype == PT_INT32 ? "" : suffix);
        }
    }
    pt_store(to, dtype, 1, compute, &chunk, 1);
}

static void store(pt_tensor_t *t, int dim, uint8_t *to, mp_obj_t o)
{
    size_t n;
    mp_buffer_info_t info;
    if (dim == t->ndim) {
        pt_store_number(o, t->dtype, to, "");
        return;
    }
    if (!pt_length(o, &n)) {
        mp_raise_TypeError(MP_ERROR_TEXT("not a sequence"));
    }
    if (n != (size_t)t->dims[dim]) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("expected sequence of length %d at dim %d (got %d)"),
            (int)t->dims[dim], dim, (int)n);
    }
    const int array = array_dtype(o, &info);
    if (array >= 0 && dim == t->ndim - 1 && (t->dtype == pt_compute(array) || t->dtype == array)
        && info.len == n * (size_t)pt_size(array)) {
        const int32_t count = (int32_t)n; /* all numbers of an array fit: no object is created for each */
        pt_tensor_t *row = pt_view(t, 1, &count, NULL, (int32_t)(to - t->data) / pt_size(t->dtype));
        pt_copy_into(row, pt_borrow(o, info.buf, (uint32_t)info.len, array, 1, &count));
        return;
    }
    const size_t step = (size_t)t->dims[t->ndim + dim] * (size_t)pt_size(t->dtype);
    for (size_t k = 0; k < n; k++) {
        store(t, dim + 1, to + k * step, item_of(o, k));
    }
}

pt_tensor_t *pt_from_data(mp_obj_t data, int dtype)
{
    int32_t sizes[PT_MAX_DIMS];
    int ndim = 0;
    size_t n;
    mp_obj_t at = data;
    if (pt_is_tensor(data)) {
        pt_tensor_t *from = pt_tensor(data), *copy = pt_new_like(from, dtype < 0 ? from->dtype : dtype);
        pt_copy_into(copy, from);
        return copy;
    }
    if (is_text(data)) {
        infer(data); /* raises */
    }
    while (pt_length(at, &n) || mp_obj_is_str(at)) {
        if (ndim == PT_MAX_DIMS || mp_obj_is_str(at)) {
            mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("too many dimensions '%s'"), mp_obj_get_type_str(at));
        }
        sizes[ndim++] = (int32_t)n;
        if (n == 0) {
            break;
        }
        at = item_of(at, 0);
    }
    pt_tensor_t *t = pt_new(dtype < 0 ? infer(data) : dtype, ndim, sizes);
    store(t, 0, t->data, data);
    return t;
}

/* ---- functions of the module ----------------------------------------------------------------------------------- */

void pt_require_grad(pt_tensor_t *t, bool wanted)
{
    if (wanted && !pt_is_float(t->dtype)) {
        mp_raise_msg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("Only Tensors of floating point and complex dtype can require gradients"));
    }
    t->requires_grad = wanted;
}

void pt_set_requires_grad(pt_tensor_t *t, bool wanted)
{
    if (wanted && !pt_is_float(t->dtype)) {
        mp_raise_msg(
            &mp_type_RuntimeError, MP_ERROR_TEXT("only Tensors of floating point dtype can require gradients"));
    }
    t->requires_grad = wanted;
}

static int dtype_or(const pt_arg_t *arg, int otherwise) { return arg->given ? arg->v.dtype : otherwise; }

/* tensor(data, *, dtype, device, requires_grad); overload->data is the place of `data`: new_tensor has self first. */
mp_obj_t pt_do_tensor(pt_call_t *c)
{
    const pt_arg_t *args = c->args + c->overload->data.number;
    const bool like_self = c->overload->data.number && !pt_is_tensor(args[0].object);
    pt_tensor_t *t = pt_from_data(args[0].object, dtype_or(&args[1], like_self ? c->args[0].v.tensor->dtype : -1));
    pt_require_grad(t, args[3].v.i != 0);
    return MP_OBJ_FROM_PTR(t);
}

mp_obj_t pt_do_as_tensor(pt_call_t *c)
{
    const mp_obj_t data = c->args[0].object;
    const int dtype = dtype_or(&c->args[1], -1);
    return pt_is_tensor(data) && (dtype < 0 || dtype == pt_tensor(data)->dtype)
        ? data
        : MP_OBJ_FROM_PTR(pt_from_data(data, dtype));
}

/* The elements of a buffer, used in place. */
static pt_tensor_t *from_buffer(mp_obj_t buffer, int dtype, int64_t count, int64_t offset)
{
    mp_buffer_info_t info;
    const int size = pt_size(dtype);
    if (!mp_get_buffer(buffer, &info, MP_BUFFER_READ)) {
        mp_raise_ValueError(MP_ERROR_TEXT("object does not implement Python buffer protocol."));
    }
    const int32_t length = (int32_t)info.len;
    const bool whole = count < 0; /* all that follows the offset */
    const int32_t rest = length - (int32_t)offset, elements = whole ? rest / size : (int32_t)count;
    if (!count || offset < 0 || offset >= length || count > rest || elements > rest / size
        || (whole && elements * size != rest)) {
        mp_raise_msg_varg(&mp_type_ValueError,
            MP_ERROR_TEXT("buffer of %d bytes has no %d elements of %d bytes after offset %d"), (int)length, (int)count,
            size, (int)offset);
    }
    const int32_t sizes[] = {elements};
    uint8_t *data = info.buf;
    pt_tensor_t *t = pt_borrow(buffer, data + offset, (uint32_t)(sizes[0] * size), dtype, 1, sizes);
    t->read_only = !mp_get_buffer(buffer, &info, MP_BUFFER_WRITE);
    if ((uintptr_t)t->data % (uintptr_t)size != 0) { /* kernels read elements in place */
        pt_tensor_t *copy = pt_new_like(t, dtype);
        memcpy(copy->data, t->data, (size_t)t->bytes);
        return copy;
    }
    return t;
}

/* frombuffer(buffer, *, dtype, count, offset, requires_grad) */
mp_obj_t pt_do_frombuffer(pt_call_t *c)
{
    const pt_arg_t *a = c->args;
    pt_tensor_t *t = from_buffer(a[0].object, a[1].v.dtype, a[2].v.i, a[3].v.i);
    pt_require_grad(t, a[4].v.i != 0);
    return MP_OBJ_FROM_PTR(t);
}

/* asarray(obj, *, dtype, device, copy, requires_grad): buffers are taken as bytes. */
mp_obj_t pt_do_asarray(pt_call_t *c)
{
    const mp_obj_t data = c->args[0].object;
    mp_buffer_info_t info;
    pt_tensor_t *t;
    const bool copy = c->args[3].given && c->args[3].v.i;
    if (pt_is_tensor(data)) {
        t = pt_tensor(data);
    } else if (mp_obj_is_obj(data) && !mp_obj_is_str(data) && mp_get_buffer(data, &info, MP_BUFFER_READ)) {
        t = from_buffer(data, dtype_or(&c->args[1], PT_FLOAT32), -1, 0);
    } else {
        t = pt_from_data(data, dtype_or(&c->args[1], -1));
    }
    if (copy || (c->args[1].given && t->dtype != c->args[1].v.dtype)) {
        t = pt_from_data(MP_OBJ_FROM_PTR(t), dtype_or(&c->args[1], -1));
    }
    if (c->args[4].v.i) {
        pt_require_grad(t, true);
    }
    return MP_OBJ_FROM_PTR(t);
}

/* ---- Tensor(...) and Parameter(...) ---------------------------------------------------------------------------- */

mp_obj_t pt_tensor_make(const mp_obj_type_t *type, size_t n, size_t n_kw, const mp_obj_t *args)
{
    int32_t sizes[PT_MAX_DIMS] = {0};
    size_t length;
    size_t count = n;
    const mp_obj_t *items = args;
    (void)type;
    mp_arg_check_num(n, n_kw, 0, PT_MAX_DIMS, false);
    if (n == 1 && pt_is_tensor(args[0])) {
        pt_tensor_t *t = pt_tensor(args[0]);
        return MP_OBJ_FROM_PTR(pt_view(t, t->ndim, pt_sizes(t), pt_strides(t), 0));
    }
    if (n == 1 && mp_obj_is_type(args[0], &pt_size_type)) {
        mp_obj_t *own;
        pt_sequence(args[0], &count, &own);
        items = own;
    } else if (n == 1 && !mp_obj_is_int(args[0])) {
        if (!pt_length(args[0], &length)) {
            mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("new(): data must be a sequence (got %s)"),
                mp_obj_get_type_str(args[0]));
        }
        return MP_OBJ_FROM_PTR(pt_from_data(args[0], PT_FLOAT32));
    }
    for (size_t k = 0; k < count && k < PT_MAX_DIMS; k++) {
        sizes[k] = (int32_t)mp_obj_get_int(items[k]);
    }
    pt_tensor_t *t = pt_new(PT_FLOAT32, n ? (int)count : 1, sizes);
    memset(t->data, 0, t->bytes); /* where PyTorch promises nothing */
    return MP_OBJ_FROM_PTR(t);
}

/* Parameter(data, requires_grad=True) shares the elements of `data`. */
mp_obj_t pt_parameter_make(const mp_obj_type_t *type, size_t n, size_t n_kw, const mp_obj_t *args)
{
    static const mp_arg_t allowed[] = {
        {MP_QSTR_data, MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_requires_grad, MP_ARG_BOOL, {.u_bool = true}},
    };
    mp_arg_val_t values[MP_ARRAY_SIZE(allowed)];
    const int32_t none[] = {0};
    mp_arg_parse_all_kw_array(n, n_kw, args, MP_ARRAY_SIZE(allowed), allowed, values);
    const mp_obj_t data = values[0].u_obj;
    if (data != mp_const_none && !pt_is_tensor(data)) {
        mp_raise_msg_varg(
            &mp_type_AttributeError, MP_ERROR_TEXT("'%s' object has no attribute 'detach'"), mp_obj_get_type_str(data));
    }
    pt_tensor_t *from = data == mp_const_none ? pt_new(PT_FLOAT32, 1, none) : pt_tensor(data);
    pt_tensor_t *t = pt_view(from, from->ndim, pt_sizes(from), pt_strides(from), 0);
    t->base.type = type;
    pt_require_grad(t, values[1].u_bool);
    return MP_OBJ_FROM_PTR(t);
}
