/* t[...] and t[...] = value. */
#include "tensortype.h"

#include "construct.h"
#include "indices.h"
#include "record.h"

/* The view that an index makes of a tensor, and the index tensors that pick from it. */
typedef struct {
    pt_tensor_t *t;
    int ndim, dim; /* `dim` is the next dimension that an item of the index applies to */
    int32_t offset;
    int32_t sizes[PT_MAX_DIMS], strides[PT_MAX_DIMS];
    int count, covered; /* of `indices`; the dimensions that masks among them stand for, beyond one each */
    pt_tensor_t *indices[PT_MAX_DIMS];
} view_t;

/* NULL if the build leaves them out: then nothing here calls them, and the linker drops them. */
static const pt_op_t *const read_op = PT_OP_index, *const write_op = PT_OP_index_put_;
static const pt_op_t *const set_op = PT_OP___setitem__;

static NORETURN void not_there(void)
{
    mp_raise_msg(&mp_type_NotImplementedError, MP_ERROR_TEXT("this kind of indexing is not in this build"));
}

static bool is_mask(const pt_tensor_t *t) { return t->dtype == PT_BOOL || t->dtype == PT_UINT8; }

/* ---- items of an index ----------------------------------------------------------------------------------------- */

static NORETURN void too_many(const pt_tensor_t *t)
{
    mp_raise_msg_varg(&mp_type_IndexError, MP_ERROR_TEXT("too many indices for tensor of dimension %d"), (int)t->ndim);
}

static int32_t checked(int64_t index, int32_t size, int place)
{
    if (index < -size || index >= size) {
        pt_out_of_bounds(index, place, size);
    }
    return (int32_t)(index < 0 ? index + size : index);
}

static void take_one(view_t *v, int64_t index, int place)
{
    const int d = v->dim, after = v->ndim - d - 1;
    v->offset += checked(index, v->sizes[d], place) * v->strides[d];
    memmove(v->sizes + d, v->sizes + d + 1, (size_t)after * sizeof(int32_t));
    memmove(v->strides + d, v->strides + d + 1, (size_t)after * sizeof(int32_t));
    v->ndim--;
}

static void insert(view_t *v)
{
    const int d = v->dim, after = v->ndim - d;
    if (after < 0) {
        too_many(v->t);
    }
    if (v->ndim == PT_MAX_DIMS) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("tensors have at most %d dimensions"), PT_MAX_DIMS);
    }
    memmove(v->sizes + d + 1, v->sizes + d, (size_t)after * sizeof(int32_t));
    memmove(v->strides + d + 1, v->strides + d, (size_t)after * sizeof(int32_t));
    v->strides[d] = after ? v->sizes[d + 1] * v->strides[d + 1] : 1;
    v->sizes[d] = 1;
    v->ndim++;
}

static void pick_by(view_t *v, pt_tensor_t *index)
{
    const int place = v->dim - v->covered;
    while (v->count < place) {
        v->indices[v->count++] = NULL;
    }
    v->indices[v->count++] = index;
    if (is_mask(index)) {
        v->covered += index->ndim - 1;
        v->dim += index->ndim;
    } else {
        v->dim++;
    }
}

static void pick_by_bool(view_t *v, bool value)
{
    const int32_t one = 1;
    pt_tensor_t *mask = pt_new(PT_BOOL, 1, &one);
    mask->data[0] = value;
    insert(v);
    pick_by(v, mask);
}

/* Numbers outside int32 are clamped to its ends. */
static int64_t slice_number(mp_obj_t o, int64_t otherwise)
{
    if (o == mp_const_none) {
        return otherwise;
    }
    if (pt_is_tensor(o) && pt_numel(pt_tensor(o)) == 1 && !pt_is_float(pt_tensor(o)->dtype)) {
        o = pt_item(pt_tensor(o), 0);
    }
    if (mp_obj_is_bool(o)) {
        return mp_obj_is_true(o);
    }
    if (!mp_obj_is_int(o)) {
        mp_raise_TypeError(MP_ERROR_TEXT("slice indices must be integers or None or have an __index__ method"));
    }
    const mp_obj_t end = mp_obj_new_int(mp_obj_int_sign(o) < 0 ? -INT32_MAX : INT32_MAX);
    const bool inside =
        mp_obj_is_true(mp_binary_op(mp_obj_int_sign(o) < 0 ? MP_BINARY_OP_MORE : MP_BINARY_OP_LESS, o, end));
    return mp_obj_get_int(inside ? o : end);
}

static void take_slice(view_t *v, mp_obj_t object)
{
    const mp_obj_slice_t *slice = MP_OBJ_TO_PTR(object);
    const int d = v->dim++;
    const int64_t size = v->sizes[d], step = slice_number(slice->step, 1);
    if (step <= 0) {
        mp_raise_ValueError(
            step ? MP_ERROR_TEXT("step must be greater than zero") : MP_ERROR_TEXT("slice step cannot be zero"));
    }
    int64_t start = slice_number(slice->start, 0), stop = slice_number(slice->stop, INT32_MAX);
    start = start < 0 ? start + size : start;
    stop = stop < 0 ? stop + size : stop;
    start = start < 0 ? 0 : start > size ? size : start;
    stop = stop < start ? start : stop > size ? size : stop;
    const int64_t stride = (int64_t)v->strides[d] * step;
    v->sizes[d] = (int32_t)((stop - start + step - 1) / step);
    v->offset += v->sizes[d] ? (int32_t)start * v->strides[d] : 0;
    v->strides[d] = stride > INT32_MAX ? INT32_MAX : (int32_t)stride; /* with at most one element there */
}

/* Sequences are index tensors: of bool and uint8 they are masks, all others are numbers. */
static pt_tensor_t *index_of(mp_obj_t o)
{
    if (pt_is_tensor(o)) {
        return pt_tensor(o);
    }
    if (!read_op && !write_op) {
        not_there();
    }
    pt_tensor_t *t = pt_from_data(o, -1);
    return is_mask(t) || t->dtype == PT_INT64 ? t : pt_from_data(o, PT_INT64);
}

/* How many dimensions an item of the index uses up; PyTorch counts one for every sequence, including masks. */
static int used_by(mp_obj_t item)
{
    size_t length;
    if (item == mp_const_none || item == MP_OBJ_FROM_PTR(&mp_const_ellipsis_obj) || mp_obj_is_bool(item)) {
        return 0;
    }
    if (mp_obj_is_int(item) || mp_obj_is_type(item, &mp_type_slice)) {
        return 1;
    }
    if (!pt_is_tensor(item) && !mp_obj_is_str(item) && !pt_length(item, &length)) {
        mp_raise_msg_varg(&mp_type_IndexError,
            MP_ERROR_TEXT("only integers, slices (`:`), ellipsis (`...`), None and "
                          "long or byte Variables are valid indices (got %s)"),
            mp_obj_get_type_str(item));
    }
    return pt_is_tensor(item) && is_mask(pt_tensor(item)) ? pt_tensor(item)->ndim : 1;
}

static void apply(view_t *v, mp_obj_t item, int place)
{
    if (v->dim >= v->ndim && item != mp_const_none && used_by(item)) { /* after a sequence that is a mask */
        too_many(v->t);
    }
    if (mp_obj_is_bool(item)) {
        pick_by_bool(v, mp_obj_is_true(item));
    } else if (mp_obj_is_int(item)) {
        take_one(v, pt_int64(item), place);
    } else if (mp_obj_is_type(item, &mp_type_slice)) {
        take_slice(v, item);
    } else if (item == mp_const_none) {
        insert(v);
        v->dim++;
    } else {
        pt_tensor_t *index = index_of(item);
        if (index->ndim > 0) {
            pick_by(v, index);
        } else if (is_mask(index)) {
            pick_by_bool(v, index->data[0] != 0);
        } else if (pt_is_float(index->dtype)) {
            mp_raise_msg(
                &mp_type_IndexError, MP_ERROR_TEXT("tensors used as indices must be long, int, byte or bool tensors"));
        } else {
            take_one(v, pt_int64(pt_item(index, 0)), place);
        }
    }
}

/* Lists of lists, slices, tensors, None or ... stand for tuples. */
static bool is_like_tuple(mp_obj_t index, size_t count, const mp_obj_t *items)
{
    size_t length;
    bool found = !mp_obj_is_type(index, &mp_type_list);
    for (size_t k = 0; k < count && count < 32 && !found; k++) {
        found = pt_is_tensor(items[k]) || items[k] == mp_const_none || mp_obj_is_type(items[k], &mp_type_slice)
            || items[k] == MP_OBJ_FROM_PTR(&mp_const_ellipsis_obj) || pt_length(items[k], &length);
    }
    return found;
}

static void read_index(view_t *v, pt_tensor_t *t, mp_obj_t index)
{
    size_t count = 1;
    mp_obj_t *items = &index;
    if (pt_sequence(index, &count, &items) && !is_like_tuple(index, count, items)) {
        count = 1;
        items = &index;
    }
    *v = (view_t){.t = t, .ndim = t->ndim};
    memcpy(v->sizes, pt_sizes(t), (size_t)t->ndim * sizeof(int32_t));
    memcpy(v->strides, pt_strides(t), (size_t)t->ndim * sizeof(int32_t));
    int used = 0;
    for (size_t k = 0; k < count; k++) {
        used += used_by(items[k]);
    }
    if (t->ndim == 0 && count == 1 && items == &index && mp_obj_is_int(index) && !mp_obj_is_bool(index)) {
        mp_raise_msg(&mp_type_IndexError,
            MP_ERROR_TEXT("invalid index of a 0-dim tensor. Use `tensor.item()` in "
                          "Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"));
    }
    if (used > t->ndim) {
        too_many(t);
    }
    for (size_t k = 0; k < count; k++) {
        if (items[k] == MP_OBJ_FROM_PTR(&mp_const_ellipsis_obj)) {
            v->dim += t->ndim - used;
        } else {
            apply(v, items[k], (int)k);
        }
    }
}

/* ---- reading and writing --------------------------------------------------------------------------------------- */

/* A number as a tensor of the type that it is assigned to. */
static pt_tensor_t *assigned(const pt_tensor_t *t, mp_obj_t value)
{
    if (pt_is_tensor(value)) {
        return pt_tensor(value);
    }
    if (pt_number_dtype(value) < 0) {
        mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("can't assign a %s to a torch.%sTensor"),
            mp_obj_get_type_str(value), pt_dtypes[t->dtype].type);
    }
    pt_tensor_t *number = pt_new(t->dtype, 0, NULL);
    pt_store_number(value, t->dtype, number->data, "_t");
    return number;
}

static void assign(pt_tensor_t *to, mp_obj_t value)
{
    pt_tensor_t *from = pt_expand(pt_without_ones(assigned(to, value), 0), to->ndim, pt_sizes(to));
    pt_check_writable(to);
    if (from->data != to->data || from->dtype != to->dtype
        || memcmp(from->dims, to->dims, 2 * (size_t)to->ndim * sizeof(int32_t)) != 0) { /* a[0] += 1 */
        pt_check_itself(to);
        pt_check_overlap(to, from, false);
        pt_copy_into(to, from);
    }
}

mp_obj_t pt_subscr(mp_obj_t self, mp_obj_t index, mp_obj_t value)
{
    view_t v;
    if (value == MP_OBJ_NULL) {
        mp_raise_TypeError(MP_ERROR_TEXT("Tensor does not support deleting items"));
    }
    read_index(&v, pt_tensor(self), index);
    pt_tensor_t *view = pt_view(v.t, v.ndim, v.sizes, v.strides, v.offset);
    if (value == MP_OBJ_SENTINEL) {
        PT_RECORD_CALL(MP_QSTR___getitem__);
        if (!v.count) {
            return MP_OBJ_FROM_PTR(view);
        }
        if (read_op) {
            PT_RECORD_CALL(MP_QSTR_index);
            return MP_OBJ_FROM_PTR(pt_index(NULL, view, v.count, v.indices));
        }
        not_there();
    }
    PT_RECORD_CALL(MP_QSTR___setitem__);
    if (set_op && !v.count) {
        assign(view, value);
    } else if (set_op && write_op) {
        PT_RECORD_CALL(MP_QSTR_index_put_);
        pt_index_put(view, v.count, v.indices, assigned(view, value), false);
    } else {
        not_there();
    }
    return mp_const_none;
}

mp_obj_t pt_do_getitem(pt_call_t *c) { return pt_subscr(c->args[0].object, c->args[1].object, MP_OBJ_SENTINEL); }

mp_obj_t pt_do_setitem(pt_call_t *c) { return pt_subscr(c->args[0].object, c->args[1].object, c->args[2].object); }
