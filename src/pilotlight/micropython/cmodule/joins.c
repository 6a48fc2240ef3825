/* Tensors put together. */
#include "shape.h"

/* cat, and stack (overload->data 1), which joins along a new dimension. Empty vectors fit anywhere in cat and count
 * only for the type, as in PyTorch. */
mp_obj_t pt_do_cat(pt_call_t *c)
{
    const pt_arg_t *list = &c->args[0];
    const bool stack = c->overload->data.number;
    mp_obj_tuple_t *all = MP_OBJ_TO_PTR(mp_obj_new_tuple(list->count, list->v.objects));
    const pt_tensor_t *first = NULL;
    int dtype = PT_BOOL, dim = 0;
    int64_t total = 0;
    if (list->count == 0) {
        mp_raise_msg(stack ? &mp_type_RuntimeError : &mp_type_ValueError,
            stack ? MP_ERROR_TEXT("stack expects a non-empty TensorList")
                  : MP_ERROR_TEXT("torch.cat(): expected a non-empty list of Tensors"));
    }
    for (size_t k = 0; k < all->len; k++) {
        pt_tensor_t *t = pt_tensor(all->items[k]);
        dtype = k ? pt_promote(dtype, t->dtype) : t->dtype;
        if (!stack && t->ndim == 1 && t->dims[0] == 0) {
            continue;
        }
        if (!first) {
            dim = pt_dim(c, c->args[1].v.i, t->ndim + stack);
        }
        bool fits = t->ndim + stack > 0 && (!first || t->ndim + stack == first->ndim);
        if (fits && stack) {
            t = pt_unsqueeze(t, dim);
            all->items[k] = MP_OBJ_FROM_PTR(t);
        }
        first = first ? first : t;
        for (int d = 0; fits && d < t->ndim; d++) {
            fits = d == dim || t->dims[d] == first->dims[d];
        }
        if (!fits) {
            pt_refuse(c, 0);
        }
        total += t->dims[dim];
    }
    if (!first) { /* only empty vectors */
        first = pt_tensor(all->items[0]);
        dim = pt_dim(c, c->args[1].v.i, 1);
    }
    if (total > INT32_MAX) {
        m_malloc_fail((size_t)INT32_MAX);
    }
    int32_t sizes[PT_MAX_DIMS + 1], start = 0;
    memcpy(sizes, first->dims, first->ndim * sizeof(int32_t));
    sizes[dim] = (int32_t)total;
    pt_tensor_t *y = pt_result(c, dtype, first->ndim, sizes);
    for (size_t k = 0; k < all->len; k++) {
        pt_check_apart(c, y, pt_tensor(all->items[k]));
    }
    for (size_t k = 0; k < all->len; k++) {
        pt_tensor_t *t = pt_tensor(all->items[k]);
        if (t->ndim == y->ndim) {
            pt_copy_into(pt_slice(y, dim, start, t->dims[dim], 1), t);
            start += t->dims[dim];
        }
        pt_poll();
    }
    return MP_OBJ_FROM_PTR(y);
}
