/* Elements picked and put by masks, and counted. */
#include "gather.h"

/* ---- nonzero ----------------------------------------------------------------------------------------------------- */

/* Calls for n truth values of t at a time, in the order of its elements: the work of a pass. */
typedef struct {
    int64_t count;
    pt_tensor_t *y;
    const pt_tensor_t *of;
    int32_t at;
} pass_t;

static void mark(pass_t *p, bool set)
{
    if (set && p->y) {
        int32_t rest = p->at;
        for (int d = p->of->ndim - 1; d >= 0; d--) {
            pt_chunk_t one;
            one.i[0] = rest % p->of->dims[d];
            rest /= p->of->dims[d];
            pt_store(p->y->data + ((ptrdiff_t)p->count * pt_strides(p->y)[0] + (ptrdiff_t)d * pt_strides(p->y)[1])
                    * pt_size(p->y->dtype), p->y->dtype, 1, PT_INT64, &one, 1);
        }
    }
    p->count += set;
    p->at++;
}

static void marks(pass_t *p, pt_tensor_t *t)
{
    const int compute = pt_compute(t->dtype);
    pt_tensor_t *const operands[] = {t};
    pt_chunk_t chunk;
    pt_walk_t w;
    pt_walk(&w, 1, operands);
    while (pt_next(&w)) {
        const int32_t step = w.steps[0][w.ndim - 1];
        for (int32_t at = 0; at < w.run; at += PT_CHUNK) {
            const int n = w.run - at < PT_CHUNK ? (int)(w.run - at) : PT_CHUNK;
            pt_load(w.data[0] + (ptrdiff_t)at * step * w.width[0], t->dtype, step, compute, &chunk, n);
            for (int k = 0; k < n; k++) {
                mark(p, compute == PT_FLOAT32 ? chunk.f[k] != 0.0f : chunk.i[k] != 0);
            }
            pt_poll();
        }
    }
}

static pt_tensor_t *nonzero(pt_call_t *c, pt_tensor_t *t)
{
    pass_t p = {.of = t};
    marks(&p, t);
    const int32_t sizes[] = {(int32_t)p.count, t->ndim};
    p.y = c ? pt_result(c, PT_INT64, 2, sizes) : pt_new(PT_INT64, 2, sizes);
    p.count = 0;
    p.at = 0;
    marks(&p, t);
    return p.y;
}

mp_obj_t pt_do_nonzero(pt_call_t *c) { return MP_OBJ_FROM_PTR(nonzero(c, c->args[0].v.tensor)); }

/* where(condition): the indices, dimension by dimension. */
mp_obj_t pt_do_where_true(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    t = t->ndim ? t : pt_unsqueeze(t, 0);
    pt_tensor_t *all = nonzero(NULL, t);
    mp_obj_tuple_t *tuple = MP_OBJ_TO_PTR(mp_obj_new_tuple(t->ndim, NULL));
    for (int d = 0; d < t->ndim; d++) {
        tuple->items[d] = MP_OBJ_FROM_PTR(pt_select(all, 1, d));
    }
    return MP_OBJ_FROM_PTR(tuple);
}

/* nonzero(as_tuple=). */
mp_obj_t pt_do_nonzero_as(pt_call_t *c) { return c->args[1].v.i ? pt_do_where_true(c) : pt_do_nonzero(c); }

/* ---- masks ------------------------------------------------------------------------------------------------------- */

/* Moves the elements of `wide` where the mask is set, in order, to or from those of a row. */
static int32_t by_mask(pt_tensor_t *wide, pt_tensor_t *mask, pt_tensor_t *row, bool pick)
{
    pt_tensor_t *const operands[] = {wide, mask};
    const int32_t most = row ? pt_numel(row) : INT32_MAX;
    int32_t count = 0;
    pt_walk_t w;
    pt_walk(&w, 2, operands);
    while (pt_next(&w)) {
        for (int32_t k = 0; k < w.run; k++) {
            if (!w.data[1][(ptrdiff_t)k * w.steps[1][w.ndim - 1]]) {
                continue;
            }
            if (row && count < most) {
                uint8_t *at = w.data[0] + (ptrdiff_t)k * w.steps[0][w.ndim - 1] * w.width[0];
                uint8_t *other = row->data + (ptrdiff_t)count * w.width[0];
                memcpy(pick ? other : at, pick ? at : other, w.width[0]);
            }
            count++;
        }
        pt_poll();
    }
    return count;
}

static void expect_mask(pt_call_t *c, const pt_tensor_t *mask)
{
    if (mask->dtype != PT_BOOL) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("%q: expected BoolTensor for mask"), c->op->name);
    }
}

mp_obj_t pt_do_masked_select(pt_call_t *c)
{
    pt_tensor_t *both[] = {c->args[0].v.tensor, c->args[1].v.tensor};
    int32_t sizes[PT_MAX_DIMS];
    expect_mask(c, both[1]);
    const int ndim = pt_broadcast(2, both, sizes);
    pt_tensor_t *wide = pt_expand(both[0], ndim, sizes);
    const int32_t count = by_mask(wide, both[1], NULL, true);
    pt_tensor_t *y = pt_result(c, wide->dtype, 1, &count);
    pt_check_apart(c, y, both[0]);
    pt_check_apart(c, y, both[1]);
    pt_tensor_t *row = y->dtype == wide->dtype && pt_is_contiguous(y) ? y : pt_new(wide->dtype, 1, &count);
    by_mask(wide, both[1], row, true);
    if (row != y) {
        pt_copy_into(y, row);
    }
    return MP_OBJ_FROM_PTR(y);
}

mp_obj_t pt_do_masked_scatter(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor, *mask = c->args[1].v.tensor, *source = c->args[2].v.tensor;
    pt_tensor_t *const both[] = {x, mask};
    int32_t sizes[PT_MAX_DIMS];
    expect_mask(c, mask);
    if (source->dtype != x->dtype) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("masked_scatter: expected self and source to have same dtypes but got %s and %s"),
            pt_dtype_name(x->dtype), pt_dtype_name(source->dtype));
    }
    const int ndim = pt_broadcast(2, both, sizes);
    pt_tensor_t *y = pt_result(c, x->dtype, ndim, sizes), *row = pt_contiguous(source, source->dtype);
    if (by_mask(y, mask, NULL, false) > pt_numel(row)) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("Number of elements of source < number of ones in mask"));
    }
    if (y != x) {
        pt_copy_into(y, x);
    }
    by_mask(y, mask, row, false);
    return MP_OBJ_FROM_PTR(y);
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

static int64_t largest(pt_tensor_t *t, int64_t least, const char *message)
{
    const int32_t n = pt_numel(t);
    int64_t top = -1;
    t = pt_contiguous(t, PT_INT64);
    for (int32_t k = 0; k < n; k++) {
        const int64_t v = ((const int64_t *)(const void *)t->data)[k];
        if (v < least) {
            mp_raise_msg(&mp_type_RuntimeError, (mp_rom_error_text_t)message);
        }
        top = v > top ? v : top;
    }
    return top;
}

/* one_hot: (self, num_classes). */
mp_obj_t pt_do_one_hot(pt_call_t *c)
{
    static const int32_t still[PT_MAX_DIMS] = {0};
    pt_tensor_t *x = c->args[0].v.tensor;
    int64_t classes = c->args[1].v.i;
    if (x->dtype != PT_INT64) {
        mp_raise_msg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("one_hot is only applicable to index tensor of type LongTensor."));
    }
    if (pt_numel(x) == 0 && classes <= 0) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("Can not infer total number of classes from empty tensor."));
    }
    const int64_t top = largest(x, 0, "Class values must be non-negative.");
    if (classes != -1 && top >= classes) {
        mp_raise_msg(&mp_type_RuntimeError, classes < 1 ? MP_ERROR_TEXT("num_classes should be positive")
            : MP_ERROR_TEXT("Class values must be smaller than num_classes."));
    }
    classes = classes == -1 ? top + 1 : classes;
    pt_tensor_t *index = pt_unsqueeze(x, x->ndim);
    int32_t sizes[PT_MAX_DIMS];
    memcpy(sizes, index->dims, index->ndim * sizeof(int32_t));
    sizes[x->ndim] = classes > INT32_MAX ? INT32_MAX : (int32_t)classes;
    pt_tensor_t *y = pt_new(PT_INT64, index->ndim, sizes);
    pt_fill(y, MP_OBJ_NEW_SMALL_INT(0));
    pt_along(y, x->ndim, index, pt_view(pt_from_number(MP_OBJ_NEW_SMALL_INT(1), PT_INT64), index->ndim, index->dims,
        still, 0), PT_PUT, PT_NO_NEGATIVE);
    return MP_OBJ_FROM_PTR(y);
}
