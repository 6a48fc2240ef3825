/* Parts of tensors: slices, splits, diagonals, strided windows. */
#include "shape.h"


void pt_check_apart(pt_call_t *c, const pt_tensor_t *written, pt_tensor_t *read)
{
    if (!c->out) {
        return;
    }
    pt_check_overlap(written, 1, &read);
    const bool plain = pt_is_contiguous(written) && pt_is_contiguous(read);
    if (plain && written->data == read->data && pt_numel(written) && pt_numel(read)) {
        mp_raise_msg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("unsupported operation: some elements of the input tensor and the written-to tensor refer "
                          "to a single memory location. Please clone() the tensor before performing the operation."));
    }
}

uint32_t pt_dims(pt_call_t *c, const pt_arg_t *dims, int ndim)
{
    uint32_t bits = 0;
    for (int k = 0; dims->given && k < dims->count; k++) {
        const uint32_t bit = 1u << pt_dim(c, dims->v.ints[k], ndim);
        if (bits & bit) {
            mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("dim %d appears multiple times in the list of dims"),
                pt_dim(c, dims->v.ints[k], ndim));
        }
        bits |= bit;
    }
    return bits;
}

int pt_tensors(pt_call_t *c, const pt_arg_t *list, pt_tensor_t **to, int most)
{
    if (list->count > most) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("%q(): at most %d tensors"), c->op->name, most);
    }
    for (int k = 0; k < list->count; k++) {
        if (!pt_is_tensor(list->v.objects[k])) {
            mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("%q(): expected Tensor as element %d"), c->op->name, k);
        }
        to[k] = pt_tensor(list->v.objects[k]);
    }
    return list->count;
}

/* ---- one part ------------------------------------------------------------------------------------------------- */

pt_tensor_t *pt_slice(pt_tensor_t *t, int dim, int32_t start, int32_t length, int32_t step)
{
    pt_tensor_t *v = pt_view(t, t->ndim, t->dims, pt_strides(t), length ? start * pt_strides(t)[dim] : 0);
    v->dims[dim] = length;
    pt_strides(v)[dim] *= step;
    return v;
}

pt_tensor_t *pt_select(pt_tensor_t *t, int dim, int32_t index)
{
    int32_t sizes[PT_MAX_DIMS], strides[PT_MAX_DIMS];
    for (int d = 0, to = 0; d < t->ndim; d++) {
        if (d != dim) {
            sizes[to] = t->dims[d];
            strides[to++] = pt_strides(t)[d];
        }
    }
    return pt_view(t, t->ndim - 1, sizes, strides, pt_numel(t) ? index * pt_strides(t)[dim] : 0);
}

static int some_dim(pt_call_t *c, const pt_tensor_t *t, int64_t dim, const mp_obj_type_t *error)
{
    if (t->ndim == 0) {
        mp_raise_msg_varg(error, MP_ERROR_TEXT("%q() cannot be applied to a 0-dim tensor."), c->op->name);
    }
    return pt_dim(c, dim, t->ndim);
}

static pt_tensor_t *narrowed(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const int dim = some_dim(c, t, c->args[1].v.i, &mp_type_RuntimeError);
    const int64_t size = t->dims[dim], length = c->args[3].v.i;
    int64_t start = c->args[2].v.i;
    if (length < 0) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("narrow(): length must be non-negative."));
    }
    if (start < -size || start > size) {
        mp_raise_msg_varg(&mp_type_IndexError,
            MP_ERROR_TEXT("start out of range (expected to be in range of [%d, %d], but got %d)"), -(int)size,
            (int)size, (int)start);
    }
    start += start < 0 ? size : 0;
    if (length > size - start) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("start (%d) + length (%d) exceeds dimension size (%d)."), (int)start, (int)length, (int)size);
    }
    return pt_slice(t, dim, (int32_t)start, (int32_t)length, 1);
}

mp_obj_t pt_do_narrow(pt_call_t *c) { return MP_OBJ_FROM_PTR(narrowed(c)); }

mp_obj_t pt_do_narrow_tensor(pt_call_t *c)
{
    const pt_tensor_t *start = c->args[2].v.tensor;
    pt_chunk_t chunk;
    if (start->ndim || pt_is_float(start->dtype) || start->dtype == PT_BOOL) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("start must be an 0-dim integral Tensor."));
    }
    pt_load(start->data, start->dtype, 0, PT_INT64, &chunk, 1);
    c->args[2].v.i = chunk.i[0];
    return MP_OBJ_FROM_PTR(narrowed(c));
}

mp_obj_t pt_do_select(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const int dim = some_dim(c, t, c->args[1].v.i, &mp_type_IndexError);
    const int64_t index = c->args[2].v.i, size = t->dims[dim];
    if (index < -size || index >= size) {
        mp_raise_msg_varg(&mp_type_IndexError,
            MP_ERROR_TEXT("select(): index %d out of range for tensor of size %s at dimension %d"), (int)index,
            pt_shape_text(t->ndim, t->dims), dim);
    }
    return MP_OBJ_FROM_PTR(pt_select(t, dim, (int32_t)(index < 0 ? index + size : index)));
}

static int32_t bounded(const pt_arg_t *arg, int64_t absent, int64_t size)
{
    const int64_t at = !arg->given ? absent : arg->v.i < 0 ? arg->v.i + size : arg->v.i;
    return (int32_t)(at < 0 ? 0 : at > size ? size : at);
}

/* slice: (self, dim, start, end, step). */
mp_obj_t pt_do_slice(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const int dim = some_dim(c, t, c->args[1].v.i, &mp_type_RuntimeError);
    const int32_t start = bounded(&c->args[2], 0, t->dims[dim]), end = bounded(&c->args[3], t->dims[dim], t->dims[dim]);
    if (c->args[4].v.i <= 0) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("slice step must be positive"));
    }
    const int32_t step = c->args[4].v.i > INT32_MAX / 2 ? INT32_MAX / 2 : (int32_t)c->args[4].v.i;
    const int32_t length = end > start ? (end - start - 1) / step + 1 : 0;
    return MP_OBJ_FROM_PTR(pt_slice(t, dim, start, length, length > 1 ? step : 1));
}

/* ---- several parts ----------------------------------------------------------------------------------------------- */

/* Parts that begin one behind the other: `part(k)` is k-th size of `sizes`, or `each` where that is NULL. */
static mp_obj_t parts(pt_tensor_t *t, int dim, int32_t count, const int32_t *sizes, int32_t each)
{
    mp_obj_tuple_t *all = MP_OBJ_TO_PTR(mp_obj_new_tuple((size_t)count, NULL));
    int32_t start = 0;
    for (int32_t k = 0; k < count; k++) {
        const int32_t left = t->dims[dim] - start, size = sizes ? sizes[k] : each < left ? each : left;
        all->items[k] = MP_OBJ_FROM_PTR(pt_slice(t, dim, start, size, 1));
        start += size;
    }
    return MP_OBJ_FROM_PTR(all);
}

static int split_dim(pt_call_t *c, int64_t dim)
{
    if (c->args[0].v.tensor->ndim == 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("%q expects at least a 1-dimensional tensor"),
            c->op->name);
    }
    return pt_dim(c, dim, c->args[0].v.tensor->ndim);
}

mp_obj_t pt_do_chunk(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const int dim = split_dim(c, c->args[2].v.i);
    const int64_t chunks = c->args[1].v.i, size = t->dims[dim];
    if (chunks <= 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("chunk expects `chunks` to be greater than 0, got: %d"),
            (int)chunks);
    }
    const int64_t each = size ? (size - 1) / chunks + 1 : 0;
    return parts(t, dim, (int32_t)(each ? (size + each - 1) / each : chunks), NULL, (int32_t)each);
}

mp_obj_t pt_do_split(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const int dim = split_dim(c, c->args[2].v.i);
    const int64_t each = c->args[1].v.i, size = t->dims[dim];
    if (each < 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("split expects split_size be non-negative, but got split_size=%d"), (int)each);
    }
    if (each == 0 && size) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("split_size can only be 0 if dimension size is 0, but got dimension size of %d"), (int)size);
    }
    const int32_t count = each && size ? (int32_t)((size - 1) / each + 1) : 1;
    return parts(t, dim, count, NULL, each > size ? (int32_t)size : (int32_t)each);
}

mp_obj_t pt_do_split_sizes(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const pt_arg_t *sizes = &c->args[1];
    const int dim = split_dim(c, c->args[2].v.i);
    int64_t sum = 0;
    bool negative = false;
    for (int k = 0; k < sizes->count; k++) {
        sum += sizes->v.ints[k];
        negative = negative || sizes->v.ints[k] < 0;
    }
    if (negative) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("split_with_sizes expects split_sizes have only non-negative entries, but got "
                          "split_sizes=%s"), pt_shape_text(sizes->count, sizes->v.ints));
    }
    if (sum != t->dims[dim]) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("split_with_sizes expects split_sizes to sum exactly to %d (input tensor's size at dimension "
                          "%d), but got split_sizes=%s"), (int)t->dims[dim], dim,
            pt_shape_text(sizes->count, sizes->v.ints));
    }
    return parts(t, dim, sizes->count, sizes->v.ints, 0);
}

/* tensor_split by a number of parts, the first of which are larger by one. */
static mp_obj_t sections(pt_tensor_t *t, int dim, int64_t count)
{
    if (count <= 0 || count > INT32_MAX / 16) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("number of sections must be larger than 0, got %d"),
            (int)count);
    }
    mp_obj_tuple_t *all = MP_OBJ_TO_PTR(mp_obj_new_tuple((size_t)count, NULL));
    int32_t start = 0;
    for (int32_t k = 0; k < (int32_t)count; k++) {
        const int32_t size = t->dims[dim] / (int32_t)count + (k < t->dims[dim] % (int32_t)count);
        all->items[k] = MP_OBJ_FROM_PTR(pt_slice(t, dim, start, size, 1));
        start += size;
    }
    return MP_OBJ_FROM_PTR(all);
}

/* tensor_split at places. */
static mp_obj_t between(pt_tensor_t *t, int dim, int count, const int32_t *places)
{
    mp_obj_tuple_t *all = MP_OBJ_TO_PTR(mp_obj_new_tuple((size_t)count + 1, NULL));
    int32_t start = 0;
    for (int k = 0; k <= count; k++) {
        const pt_arg_t place = {.given = k < count, .v = {.i = k < count ? places[k] : 0}};
        const int32_t end = bounded(&place, t->dims[dim], t->dims[dim]);
        all->items[k] = MP_OBJ_FROM_PTR(pt_slice(t, dim, start, end > start ? end - start : 0, 1));
        start = end;
    }
    return MP_OBJ_FROM_PTR(all);
}

static int tensor_split_dim(pt_call_t *c, int64_t dim)
{
    if (c->args[0].v.tensor->ndim == 0) {
        mp_raise_msg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"));
    }
    return pt_dim(c, dim, c->args[0].v.tensor->ndim);
}

mp_obj_t pt_do_tensor_split(pt_call_t *c)
{
    return sections(c->args[0].v.tensor, tensor_split_dim(c, c->args[2].v.i), c->args[1].v.i);
}

mp_obj_t pt_do_tensor_split_at(pt_call_t *c)
{
    const int dim = tensor_split_dim(c, c->args[2].v.i);
    return between(c->args[0].v.tensor, dim, c->args[1].count, c->args[1].v.ints);
}

mp_obj_t pt_do_tensor_split_tensor(pt_call_t *c)
{
    pt_tensor_t *by = c->args[1].v.tensor;
    const int dim = tensor_split_dim(c, c->args[2].v.i);
    if (by->dtype != PT_INT64 || by->ndim > 1) {
        mp_raise_msg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("tensor_split expected indices or sections in a long tensor"));
    }
    if (by->ndim == 0) {
        return sections(c->args[0].v.tensor, dim, mp_obj_get_int(pt_item(by, 0)));
    }
    pt_tensor_t *places = pt_contiguous(by, PT_INT32);
    return between(c->args[0].v.tensor, dim, places->dims[0], (int32_t *)(void *)places->data);
}

/* hsplit, vsplit and dsplit; overload->data is the dimension, vectors are split along their own. */
static int named_dim(pt_call_t *c)
{
    const int ndim = c->args[0].v.tensor->ndim, dim = (int)c->overload->data.number;
    const int least = dim == 1 ? 1 : dim == 0 ? 2 : 3;
    if (ndim < least) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("torch.%q requires a tensor with at least %d dimension, but got a tensor with %d "
                          "dimensions!"),
            c->op->name, least, ndim);
    }
    return ndim == 1 ? 0 : dim;
}

mp_obj_t pt_do_hsplit(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const int dim = named_dim(c);
    const int64_t count = c->args[1].v.i;
    if (count <= 0 || t->dims[dim] % count) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("torch.%q attempted to split along dimension %d, but the size of the dimension %d is not "
                          "divisible by the split_size %d!"), c->op->name, dim, (int)t->dims[dim], (int)count);
    }
    return sections(t, dim, count);
}

mp_obj_t pt_do_hsplit_at(pt_call_t *c)
{
    return between(c->args[0].v.tensor, named_dim(c), c->args[1].count, c->args[1].v.ints);
}

mp_obj_t pt_do_unbind(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    if (t->ndim == 0) {
        mp_raise_msg_varg(&mp_type_IndexError, MP_ERROR_TEXT("Dimension specified as %d but tensor has no dimensions"),
            (int)c->args[1].v.i);
    }
    const int dim = pt_dim(c, c->args[1].v.i, t->ndim);
    mp_obj_tuple_t *all = MP_OBJ_TO_PTR(mp_obj_new_tuple((size_t)t->dims[dim], NULL));
    for (int32_t k = 0; k < t->dims[dim]; k++) {
        all->items[k] = MP_OBJ_FROM_PTR(pt_select(t, dim, k));
    }
    return MP_OBJ_FROM_PTR(all);
}
