/* Views: other sizes and strides over the same elements. */
#include "shape.h"

const char *pt_shape_text(int ndim, const int32_t *sizes)
{
    vstr_t text;
    mp_print_t print;
    vstr_init_print(&text, 16, &print);
    for (int d = 0; d < ndim; d++) {
        mp_printf(&print, d ? ", %d" : "[%d", (int)sizes[d]);
    }
    mp_printf(&print, ndim ? "]" : "[]");
    return vstr_null_terminated_str(&text);
}

/* The result of a view operator: in place, the header of self becomes the view's. */
static mp_obj_t given(pt_call_t *c, pt_tensor_t *view)
{
    if (c->in_place) {
        pt_become(c->args[0].v.tensor, view);
        return c->args[0].object;
    }
    return MP_OBJ_FROM_PTR(view);
}

/* ---- sizes -------------------------------------------------------------------------------------------------- */

/* Sizes of which one may be -1, for a number of elements. */
static void infer(int32_t numel, int count, const int32_t *wanted, int32_t *sizes)
{
    int64_t known = 1;
    int open = -1;
    if (count > PT_MAX_DIMS) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("tensors have at most %d dimensions, got %d"),
            PT_MAX_DIMS, count);
    }
    for (int d = 0; d < count; d++) {
        sizes[d] = wanted[d];
        if (wanted[d] == -1 && open >= 0) {
            mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("only one dimension can be inferred"));
        } else if (wanted[d] == -1) {
            open = d;
        } else if (wanted[d] < 0) {
            mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("invalid shape dimension %d"), (int)wanted[d]);
        } else {
            known = known * wanted[d] > INT32_MAX ? (int64_t)INT32_MAX + 1 : known * wanted[d];
        }
    }
    if (open >= 0 && known == 0 && numel == 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("cannot reshape tensor of 0 elements into shape %s"), pt_shape_text(count, wanted));
    }
    if (open >= 0 && known > 0 && numel % known == 0) {
        sizes[open] = (int32_t)(numel / known);
    } else if (open >= 0 || known != numel) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("shape '%s' is invalid for input of size %d"),
            pt_shape_text(count, wanted), (int)numel);
    }
}

/* The strides that give a tensor other sizes where it lies; false where there are none. */
static bool view_strides(const pt_tensor_t *t, int ndim, const int32_t *sizes, int32_t *strides)
{
    int32_t step = 1;
    if (pt_numel(t) == 0) {
        for (int d = ndim - 1; d >= 0; d--) {
            strides[d] = step;
            step *= sizes[d] > 1 ? sizes[d] : 1;
        }
        return true;
    }
    int to = ndim - 1, from = t->ndim - 1;
    while (from >= 0) {
        /* dimensions that lie one behind the other are one piece, which some of the new sizes must fill */
        int32_t piece = t->dims[from], filled = 1;
        step = t->dims[t->ndim + from];
        while (from > 0 && (t->dims[from - 1] == 1 || t->dims[t->ndim + from - 1] == step * piece)) {
            piece *= t->dims[--from];
        }
        from--;
        while (to >= 0 && (filled < piece || sizes[to] == 1)) {
            strides[to] = step * filled;
            filled *= sizes[to--];
        }
        if (filled != piece) {
            return false;
        }
    }
    for (; to >= 0; to--) {
        strides[to] = 1;
    }
    return true;
}

pt_tensor_t *pt_reshape(pt_tensor_t *t, int count, const int32_t *wanted)
{
    int32_t sizes[PT_MAX_DIMS], strides[PT_MAX_DIMS];
    infer(pt_numel(t), count, wanted, sizes);
    if (view_strides(t, count, sizes, strides)) {
        return pt_view(t, count, sizes, strides, 0);
    }
    return pt_view(pt_contiguous(t, t->dtype), count, sizes, NULL, 0);
}

/* view (data 0) and reshape (1): (self, size). */
mp_obj_t pt_do_view(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const pt_arg_t *size = &c->args[1];
    int32_t sizes[PT_MAX_DIMS], strides[PT_MAX_DIMS];
    if (c->overload->data.number) {
        return MP_OBJ_FROM_PTR(pt_reshape(t, size->count, size->v.ints));
    }
    infer(pt_numel(t), size->count, size->v.ints, sizes);
    if (!view_strides(t, size->count, sizes, strides)) {
        mp_raise_msg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("view size is not compatible with input tensor's size and stride. Use .reshape(...) "
                          "instead."));
    }
    return MP_OBJ_FROM_PTR(pt_view(t, size->count, sizes, strides, 0));
}

/* view_as and reshape_as: (self, other). */
mp_obj_t pt_do_view_as(pt_call_t *c)
{
    const pt_tensor_t *other = c->args[1].v.tensor;
    c->args[1].count = other->ndim;
    c->args[1].v.ints = other->dims;
    return pt_do_view(c);
}

/* view.dtype: the bytes as elements of another type; the last dimension shrinks or grows. */
mp_obj_t pt_do_view_dtype(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const int dtype = c->args[1].v.dtype, from = pt_size(t->dtype), to = pt_size(dtype), last = t->ndim - 1;
    pt_tensor_t *v = pt_view(t, t->ndim, t->dims, pt_strides(t), 0);
    v->dtype = (uint8_t)dtype;
    if (from == to) {
        return MP_OBJ_FROM_PTR(v);
    }
    bool fits = last >= 0 && pt_strides(t)[last] == 1 && (from > to || t->dims[last] % (to / from) == 0)
        && (size_t)(t->data - t->start) % (size_t)to == 0;
    for (int d = 0; fits && d < last; d++) {
        const int32_t bytes = pt_strides(t)[d] * from;
        fits = bytes % to == 0;
        pt_strides(v)[d] = bytes / to;
    }
    if (!fits) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("self cannot be viewed as %q: its last dimension does not hold whole elements of it"),
            pt_dtypes[dtype].name);
    }
    v->dims[last] = t->dims[last] * from / to;
    return MP_OBJ_FROM_PTR(v);
}

mp_obj_t pt_do_flatten(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const int start = pt_dim(c, c->args[1].v.i, t->ndim), end = pt_dim(c, c->args[2].v.i, t->ndim);
    int32_t sizes[PT_MAX_DIMS];
    int ndim = 0;
    if (start > end) {
        mp_raise_msg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("flatten() has invalid args: start_dim cannot come after end_dim"));
    }
    if (start == end && t->ndim > 0) {
        return c->args[0].object;
    }
    sizes[0] = 1;
    for (int d = 0; d < t->ndim; d++) {
        if (d > start && d <= end) {
            sizes[ndim - 1] *= t->dims[d];
        } else {
            sizes[ndim++] = t->dims[d];
        }
    }
    return MP_OBJ_FROM_PTR(pt_reshape(t, ndim ? ndim : 1, sizes));
}

mp_obj_t pt_do_ravel(pt_call_t *c)
{
    pt_tensor_t *t = pt_contiguous(c->args[0].v.tensor, c->args[0].v.tensor->dtype);
    const int32_t all = pt_numel(t);
    return MP_OBJ_FROM_PTR(pt_view(t, 1, &all, NULL, 0));
}

mp_obj_t pt_do_unflatten(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const pt_arg_t *into = &c->args[2];
    const int dim = pt_dim(c, c->args[1].v.i, t->ndim), ndim = t->ndim - 1 + into->count;
    int32_t sizes[PT_MAX_DIMS], strides[PT_MAX_DIMS], inner[PT_MAX_DIMS];
    if (into->count == 0) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("unflatten: sizes must be non-empty"));
    }
    if (t->ndim == 0 || ndim > PT_MAX_DIMS) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("unflatten: too few or too many dimensions"));
    }
    infer(t->dims[dim], into->count, into->v.ints, inner);
    int32_t step = pt_strides(t)[dim];
    for (int k = into->count - 1; k >= 0; k--) {
        sizes[dim + k] = inner[k];
        strides[dim + k] = step;
        step *= inner[k];
    }
    for (int d = 0; d < t->ndim; d++) {
        if (d != dim) {
            const int to = d < dim ? d : d - 1 + into->count;
            sizes[to] = t->dims[d];
            strides[to] = pt_strides(t)[d];
        }
    }
    return MP_OBJ_FROM_PTR(pt_view(t, ndim, sizes, strides, 0));
}

/* ---- the order of dimensions ---------------------------------------------------------------------------------- */

pt_tensor_t *pt_permute(pt_tensor_t *t, const int32_t *order)
{
    int32_t sizes[PT_MAX_DIMS], strides[PT_MAX_DIMS];
    for (int d = 0; d < t->ndim; d++) {
        sizes[d] = t->dims[order[d]];
        strides[d] = pt_strides(t)[order[d]];
    }
    return pt_view(t, t->ndim, sizes, strides, 0);
}

mp_obj_t pt_do_permute(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const pt_arg_t *dims = &c->args[1];
    int32_t order[PT_MAX_DIMS];
    uint32_t seen = 0;
    if (dims->count != t->ndim) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("permute(sparse_coo): input.dim() = %d is not equal to len(dims) = %d"),
            (int)t->ndim, (int)dims->count);
    }
    for (int d = 0; d < t->ndim; d++) {
        order[d] = pt_dim(c, dims->v.ints[d], t->ndim);
        if (seen & 1u << order[d]) {
            mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("permute(): duplicate dims are not allowed."));
        }
        seen |= 1u << order[d];
    }
    return MP_OBJ_FROM_PTR(pt_permute(t, order));
}

pt_tensor_t *pt_transpose(pt_tensor_t *t, int a, int b)
{
    pt_tensor_t *v = pt_view(t, t->ndim, t->dims, pt_strides(t), 0);
    if (t->ndim) {
        v->dims[a] = t->dims[b];
        v->dims[b] = t->dims[a];
        pt_strides(v)[a] = pt_strides(t)[b];
        pt_strides(v)[b] = pt_strides(t)[a];
    }
    return v;
}

/* transpose and its aliases: (self, dim0, dim1). */
mp_obj_t pt_do_transpose(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    return given(c, pt_transpose(t, pt_dim(c, c->args[1].v.i, t->ndim), pt_dim(c, c->args[2].v.i, t->ndim)));
}

mp_obj_t pt_do_t(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    if (t->ndim > 2) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("%q() expects a tensor with <= 2 dimensions, but self is %dD"), c->op->name, (int)t->ndim);
    }
    return given(c, t->ndim == 2 ? pt_transpose(t, 0, 1) : pt_view(t, t->ndim, t->dims, pt_strides(t), 0));
}

/* adjoint: the last two dimensions change places. */
mp_obj_t pt_do_adjoint(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    if (t->ndim == 1) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("tensor.adjoint() is only supported on matrices or batches "
                                                          "of matrices. Got 1-D tensor."));
    }
    return MP_OBJ_FROM_PTR(pt_transpose(t, t->ndim - 2, t->ndim - 1));
}

static mp_obj_t moved(pt_call_t *c, int count, const int32_t *source, const int32_t *destination)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    int32_t order[PT_MAX_DIMS];
    uint32_t taken = 0, filled = 0;
    for (int k = 0; k < count; k++) {
        const int from = pt_dim(c, source[k], t->ndim), to = pt_dim(c, destination[k], t->ndim);
        if (taken & 1u << from || filled & 1u << to) {
            mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("movedim: repeated dim in `%s` (%s)"),
                taken & 1u << from ? "source" : "destination",
                pt_shape_text(count, taken & 1u << from ? source : destination));
        }
        order[to] = from;
        taken |= 1u << from;
        filled |= 1u << to;
    }
    for (int from = 0, to = 0; from < t->ndim; from++) {
        if (!(taken & 1u << from)) {
            while (filled & 1u << to) {
                to++;
            }
            order[to++] = from;
        }
    }
    return MP_OBJ_FROM_PTR(t->ndim ? pt_permute(t, order) : t);
}

mp_obj_t pt_do_movedim(pt_call_t *c)
{
    const int32_t from = (int32_t)c->args[1].v.i, to = (int32_t)c->args[2].v.i;
    return moved(c, 1, &from, &to);
}

mp_obj_t pt_do_movedims(pt_call_t *c)
{
    const pt_arg_t *from = &c->args[1], *to = &c->args[2];
    if (from->count != to->count) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("movedim: source (%s dims) should contain the same number of dims as destination (%s "
                          "dims)"), pt_shape_text(from->count, from->v.ints),
            pt_shape_text(to->count, to->v.ints));
    }
    return moved(c, from->count, from->v.ints, to->v.ints);
}

/* ---- dimensions of one ------------------------------------------------------------------------------------------- */

static mp_obj_t squeezed(pt_call_t *c, uint32_t chosen)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    int32_t sizes[PT_MAX_DIMS], strides[PT_MAX_DIMS];
    int ndim = 0;
    for (int d = 0; d < t->ndim; d++) {
        if (t->dims[d] != 1 || !(chosen & 1u << d)) {
            sizes[ndim] = t->dims[d];
            strides[ndim++] = pt_strides(t)[d];
        }
    }
    return given(c, pt_view(t, ndim, sizes, strides, 0));
}

mp_obj_t pt_do_squeeze(pt_call_t *c) { return squeezed(c, ~0u); }

mp_obj_t pt_do_squeeze_dim(pt_call_t *c)
{
    return squeezed(c, 1u << pt_dim(c, c->args[1].v.i, c->args[0].v.tensor->ndim));
}

mp_obj_t pt_do_squeeze_dims(pt_call_t *c) { return squeezed(c, pt_dims(c, &c->args[1], c->args[0].v.tensor->ndim)); }

pt_tensor_t *pt_unsqueeze(pt_tensor_t *t, int dim)
{
    int32_t sizes[PT_MAX_DIMS + 1], strides[PT_MAX_DIMS + 1];
    const int tail = t->ndim - dim;
    memcpy(sizes, t->dims, (size_t)dim * sizeof(int32_t));
    memcpy(strides, pt_strides(t), (size_t)dim * sizeof(int32_t));
    sizes[dim] = 1;
    strides[dim] = tail ? t->dims[dim] * pt_strides(t)[dim] : 1;
    memcpy(sizes + dim + 1, t->dims + dim, (size_t)tail * sizeof(int32_t));
    memcpy(strides + dim + 1, pt_strides(t) + dim, (size_t)tail * sizeof(int32_t));
    return pt_view(t, t->ndim + 1, sizes, strides, 0);
}

mp_obj_t pt_do_unsqueeze(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    return given(c, pt_unsqueeze(t, pt_dim(c, c->args[1].v.i, t->ndim + 1)));
}

/* atleast_1d, _2d and _3d; overload->data is the number of dimensions. */
static mp_obj_t at_least(mp_obj_t object, int ndim)
{
    pt_tensor_t *t = pt_tensor(object);
    while (t->ndim < ndim) { /* the third dimension comes last, the others first */
        t = pt_unsqueeze(t, t->ndim == 2 ? 2 : 0);
    }
    return MP_OBJ_FROM_PTR(t);
}

mp_obj_t pt_do_atleast(pt_call_t *c) { return at_least(c->args[0].object, (int)c->overload->data.number); }

mp_obj_t pt_do_atleast_all(pt_call_t *c)
{
    mp_obj_tuple_t *all = MP_OBJ_TO_PTR(mp_obj_new_tuple(c->args[0].count, c->args[0].v.objects));
    for (size_t k = 0; k < all->len; k++) {
        all->items[k] = at_least(all->items[k], (int)c->overload->data.number);
    }
    return MP_OBJ_FROM_PTR(all);
}

/* ---- expanding --------------------------------------------------------------------------------------------------- */

pt_tensor_t *pt_expand(pt_tensor_t *t, int ndim, const int32_t *wanted)
{
    int32_t sizes[PT_MAX_DIMS], strides[PT_MAX_DIMS];
    const int more = ndim - t->ndim;
    if (more < 0 || ndim > PT_MAX_DIMS) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("expand: the number of sizes provided (%d) must be greater or equal to the number of "
                          "dimensions in the tensor (%d)"), ndim, (int)t->ndim);
    }
    for (int d = ndim - 1; d >= 0; d--) {
        const int own = d - more;
        const int32_t size = own < 0 ? 1 : t->dims[own];
        sizes[d] = wanted[d] == -1 && own >= 0 ? size : wanted[d];
        if (sizes[d] < 0) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("The expanded size of the tensor (%d) isn't allowed in a leading, non-existing "
                              "dimension %d"), (int)wanted[d], d);
        }
        if (size != 1 && sizes[d] != size) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("The expanded size of the tensor (%d) must match the existing size (%d) at non-singleton "
                              "dimension %d.  Target sizes: %s.  Tensor sizes: %s"), (int)sizes[d], (int)size, d,
                pt_shape_text(ndim, wanted), pt_shape_text(t->ndim, t->dims));
        }
        strides[d] = own < 0 || sizes[d] != size ? 0 : pt_strides(t)[own];
    }
    return pt_view(t, ndim, sizes, strides, 0);
}

mp_obj_t pt_do_expand(pt_call_t *c)
{
    return MP_OBJ_FROM_PTR(pt_expand(c->args[0].v.tensor, c->args[1].count, c->args[1].v.ints));
}

mp_obj_t pt_do_expand_as(pt_call_t *c)
{
    const pt_tensor_t *other = c->args[1].v.tensor;
    return MP_OBJ_FROM_PTR(pt_expand(c->args[0].v.tensor, other->ndim, other->dims));
}

mp_obj_t pt_do_broadcast_tensors(pt_call_t *c)
{
    pt_tensor_t *operands[PT_INTS];
    int32_t sizes[PT_MAX_DIMS];
    const int count = pt_tensors(c, &c->args[0], operands, PT_INTS);
    const int ndim = pt_broadcast(count, operands, sizes);
    mp_obj_tuple_t *all = MP_OBJ_TO_PTR(mp_obj_new_tuple((size_t)count, NULL));
    for (int k = 0; k < count; k++) {
        all->items[k] = MP_OBJ_FROM_PTR(pt_expand(operands[k], ndim, sizes));
    }
    return MP_OBJ_FROM_PTR(all);
}

/* ---- the same elements ------------------------------------------------------------------------------------------- */

mp_obj_t pt_do_contiguous(pt_call_t *c)
{
    return MP_OBJ_FROM_PTR(pt_contiguous(c->args[0].v.tensor, c->args[0].v.tensor->dtype));
}

/* self as it is: positive, real. */
mp_obj_t pt_do_same(pt_call_t *c) { return c->args[0].object; }

/* detach and alias. */
mp_obj_t pt_do_alias(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    t->requires_grad = t->requires_grad && !c->in_place;
    return c->in_place ? c->args[0].object
        : MP_OBJ_FROM_PTR(pt_view(t, t->ndim, t->dims, pt_strides(t), 0));
}

mp_obj_t pt_do_clone(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor, *copy = pt_result(c, t->dtype, t->ndim, t->dims);
    pt_copy_into(copy, t);
    return MP_OBJ_FROM_PTR(copy);
}
