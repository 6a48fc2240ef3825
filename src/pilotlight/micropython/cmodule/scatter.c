/* scatter and index_add: elements written by indices. */
#include "gather.h"

#include "generated/rows.h"

/* The tensor to change: self, or a copy of it that is the result. */
static pt_tensor_t *changed(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor, *y = pt_result(c, x->dtype, x->ndim, x->dims);
    pt_check_apart(c, y, c->args[2].v.tensor);
    if (pt_is_tensor(c->args[3].object)) {
        pt_check_apart(c, y, pt_tensor(c->args[3].object));
    }
    if (y != x) {
        pt_copy_into(y, x);
    }
    return y;
}

/* A number or a tensor without dimensions, expanded to these sizes. */
static pt_tensor_t *everywhere(mp_obj_t value, int dtype, int ndim, const int32_t *sizes)
{
    static const int32_t strides[PT_MAX_DIMS] = {0};
    return pt_view(pt_from_number(value, dtype), ndim, sizes, strides, 0);
}

/* The actions that reduce= names; those of one letter are for scatter_reduce, which is built on scatter. */
static int action_of(mp_obj_t reduce)
{
    const char *name = mp_obj_str_get_str(reduce);
    const int action = strcmp(name, "add") == 0 ? PT_ADD
        : strcmp(name, "multiply") == 0         ? PT_MULTIPLY
        : name[0] == '>'                        ? PT_LARGEST
                                                : PT_LEAST;
    if (action == PT_LEAST && name[0] != '<') {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("reduce argument must be either add or multiply"));
    }
    return action;
}

/* ---- scatter ----------------------------------------------------------------------------------------------------- */

/* Where src has as many dimensions as self and self as index, and no fewer elements along any. */
static bool fits(const pt_tensor_t *x, int dim, const pt_tensor_t *index, const pt_tensor_t *src)
{
    const int ndim = x->ndim ? x->ndim : 1;
    bool fit = (index->ndim ? index->ndim : 1) == ndim && (src->ndim ? src->ndim : 1) == ndim;
    for (int d = 0; fit && d < index->ndim; d++) {
        fit = (d == dim || index->dims[d] <= (x->ndim ? x->dims[d] : 1))
            && index->dims[d] <= (src->ndim ? src->dims[d] : 1);
    }
    return fit;
}

/* scatter and scatter_add: (self, dim, index, src); overload->data is the action, with 8 for a value as src, with 16
 * for reduce= as well. */
mp_obj_t pt_do_scatter(pt_call_t *c)
{
    const int data = (int)c->overload->data.number;
    pt_tensor_t *x = c->args[0].v.tensor, *index = c->args[2].v.tensor;
    pt_tensor_t *src =
        data & 8 ? everywhere(c->args[3].object, x->dtype, index->ndim, index->dims) : c->args[3].v.tensor;
    const int dim = pt_dim(c, c->args[1].v.i, x->ndim), action = data & 16 ? action_of(c->args[4].object) : data & 7;
    pt_index_type(c, index);
    if (src->dtype != x->dtype || (pt_numel(index) && !fits(x, dim, index, src))) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("%q(): Expected index %s to be no larger than self %s and src %s, of the same dtype"),
            c->op->name, pt_shape_text(index->ndim, index->dims), pt_shape_text(x->ndim, x->dims),
            pt_shape_text(src->ndim, src->dims));
    }
    pt_tensor_t *y = changed(c);
    if (pt_numel(index)) {
        src = src->ndim == index->ndim ? pt_view(src, index->ndim, index->dims, pt_strides(src), 0)
                                       : pt_reshape(src, index->ndim, index->dims);
        pt_along(y, dim, index, src, action, false);
    }
    return MP_OBJ_FROM_PTR(y);
}

/* index_add: (self, dim, index, source, alpha): rows that go where a vector of indices says. */
mp_obj_t pt_do_index_add(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor, *index = c->args[2].v.tensor, *source = c->args[3].v.tensor;
    const int dim = pt_dim(c, c->args[1].v.i, x->ndim);
    int32_t sizes[PT_MAX_DIMS];
    memcpy(sizes, x->dims, x->ndim * sizeof(int32_t));
    if (x->ndim) {
        sizes[dim] = pt_numel(index);
    }
    pt_tensor_t *ids = pt_index_vector(c, index, x->ndim, dim, sizes);
    bool fit = source->dtype == x->dtype && (source->ndim == x->ndim || (source->ndim <= 1 && x->ndim <= 1));
    for (int d = 0; fit && d < x->ndim && d < source->ndim; d++) {
        fit = source->dims[d] == sizes[d];
    }
    if (!fit) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("%q(): source must have self's dtype and shape, but for dim, where it has that of index"),
            c->op->name);
    }
    if (c->args[4].object != MP_OBJ_NEW_SMALL_INT(1)) {
        pt_tensor_t *const operands[] = {source, pt_from_number(c->args[4].object, source->dtype)};
        source = pt_apply(&pt_row_mul, 2, operands, NULL);
    }
    source = source->ndim == x->ndim ? source : pt_reshape(source, x->ndim, sizes);
    pt_tensor_t *y = changed(c);
    pt_along(y, dim, ids, source, PT_ADD, false);
    return MP_OBJ_FROM_PTR(y);
}
