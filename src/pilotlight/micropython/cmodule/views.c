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

/* Sizes, one of which may be -1, for a number of elements. */
static void infer(int32_t numel, int count, const int32_t *wanted, int32_t *sizes)
{
    int64_t known = 1;
    int open = -1;
    bool fits = count <= PT_MAX_DIMS;
    for (int d = 0; fits && d < count; d++) {
        sizes[d] = wanted[d];
        if (wanted[d] == -1) {
            fits = open < 0;
            open = d;
        } else {
            fits = wanted[d] >= 0;
            known = known * wanted[d] > INT32_MAX ? (int64_t)INT32_MAX + 1 : known * wanted[d];
        }
    }
    if (fits && open >= 0 && known > 0) {
        sizes[open] = (int32_t)(numel / known);
        known *= sizes[open];
    } else {
        fits = fits && open < 0;
    }
    if (!fits || known != numel) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("shape '%s' is invalid for input of size %d"),
            pt_shape_text(count, wanted), (int)numel);
    }
}

/* The strides that give a tensor other sizes without a copy; false if there are none. */
static bool view_strides(const pt_tensor_t *t, int ndim, const int32_t *sizes, int32_t *strides)
{
    int32_t step = 1;
    if (pt_numel(t) == 0) {
        for (int d = ndim - 1; d >= 0; d--) {
            strides[d] = step;
            step = (int32_t)((uint32_t)step * (uint32_t)(sizes[d] > 1 ? sizes[d] : 1));
        }
        return true;
    }
    int to = ndim - 1, from = t->ndim - 1;
    while (from >= 0) {
        /* dimensions that lie one after the other are one piece, which some of the new sizes must fill */
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
        pt_refuse(c, 1);
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
    pt_check_built(dtype);
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
        pt_refuse(c, 1);
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
        pt_refuse(c, 1);
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
    pt_dims(c, dims, t->ndim);
    if (dims->count != t->ndim) {
        pt_refuse(c, 1);
    }
    for (int d = 0; d < t->ndim; d++) {
        order[d] = pt_dim(c, dims->v.ints[d], t->ndim);
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
        pt_refuse(c, 0);
    }
    return given(c, t->ndim == 2 ? pt_transpose(t, 0, 1) : pt_view(t, t->ndim, t->dims, pt_strides(t), 0));
}

/* ---- dimensions of one ------------------------------------------------------------------------------------------- */

/* squeeze: all dimensions of one, a dimension (overload->data 1), or a list of them (2). */
mp_obj_t pt_do_squeeze(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const int kind = (int)c->overload->data.number;
    const uint32_t chosen = kind == 0 ? ~0u
        : kind == 1                   ? 1u << pt_dim(c, c->args[1].v.i, t->ndim)
                                      : pt_dims(c, &c->args[1], t->ndim);
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

pt_tensor_t *pt_unsqueeze(pt_tensor_t *t, int dim)
{
    int32_t sizes[PT_MAX_DIMS + 1], strides[PT_MAX_DIMS + 1];
    for (int d = 0, from = 0; d <= t->ndim; d++) {
        const bool old = d != dim, more = from < t->ndim;
        sizes[d] = old ? t->dims[from] : 1;
        strides[d] = !more ? 1 : old ? pt_strides(t)[from] : t->dims[from] * pt_strides(t)[from];
        from += old;
    }
    return pt_view(t, t->ndim + 1, sizes, strides, 0);
}

mp_obj_t pt_do_unsqueeze(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    return given(c, pt_unsqueeze(t, pt_dim(c, c->args[1].v.i, t->ndim + 1)));
}

/* ---- expanding --------------------------------------------------------------------------------------------------- */

pt_tensor_t *pt_expand(pt_tensor_t *t, int ndim, const int32_t *wanted)
{
    int32_t sizes[PT_MAX_DIMS], strides[PT_MAX_DIMS];
    const int more = ndim - t->ndim;
    if (more < 0 || ndim > PT_MAX_DIMS) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("expand: the number of sizes provided (%d) must be greater or equal to the number of "
                          "dimensions in the tensor (%d)"),
            ndim, (int)t->ndim);
    }
    for (int d = ndim - 1; d >= 0; d--) {
        const int own = d - more;
        const int32_t size = own < 0 ? 1 : t->dims[own];
        sizes[d] = wanted[d] == -1 && own >= 0 ? size : wanted[d];
        if (sizes[d] < 0 || (size != 1 && sizes[d] != size)) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("The expanded size of the tensor (%d) must match the existing size (%d) at non-singleton "
                              "dimension %d.  Target sizes: %s.  Tensor sizes: %s"),
                (int)sizes[d], (int)size, d, pt_shape_text(ndim, wanted), pt_shape_text(t->ndim, t->dims));
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

/* as_strided: sizes and strides in the storage, which must hold all of it. */
mp_obj_t pt_do_as_strided(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const pt_arg_t *sizes = &c->args[1], *strides = &c->args[2];
    const int64_t start = c->args[3].given ? c->args[3].v.i : pt_offset(t);
    int64_t last = start;
    bool empty = false, fits = sizes->count == strides->count && start >= 0 && start <= INT32_MAX;
    for (int d = 0; fits && d < sizes->count; d++) {
        fits = strides->v.ints[d] >= 0 && sizes->v.ints[d] >= 0;
        last += ((int64_t)sizes->v.ints[d] - 1) * strides->v.ints[d];
        last = last > UINT32_MAX ? UINT32_MAX : last; /* beyond any storage */
        empty = empty || sizes->v.ints[d] == 0;
    }
    if (!fits || (!empty && (last + 1) * pt_size(t->dtype) > t->bytes)) {
        pt_refuse(c, 2);
    }
    pt_tensor_t *v = pt_view(t, sizes->count, sizes->v.ints, strides->v.ints, 0);
    v->data = t->start + (empty ? 0 : (ptrdiff_t)start * pt_size(t->dtype));
    return given(c, v);
}

/* ---- the same elements ------------------------------------------------------------------------------------------- */

mp_obj_t pt_do_contiguous(pt_call_t *c)
{
    return MP_OBJ_FROM_PTR(pt_contiguous(c->args[0].v.tensor, c->args[0].v.tensor->dtype));
}

/* detach and alias. */
mp_obj_t pt_do_alias(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    t->requires_grad = t->requires_grad && !c->in_place;
    return c->in_place ? c->args[0].object : MP_OBJ_FROM_PTR(pt_view(t, t->ndim, t->dims, pt_strides(t), 0));
}

mp_obj_t pt_do_clone(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor, *copy = pt_result(c, t->dtype, t->ndim, t->dims);
    pt_copy_into(copy, t);
    return MP_OBJ_FROM_PTR(copy);
}
