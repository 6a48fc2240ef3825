/* Padding: a larger tensor, whose border is filled one dimension after the other. */
#include "dense.h"

enum { CONSTANT, REFLECT, REPLICATE, CIRCULAR };

static void check_pad(int mode, const pt_tensor_t *x, int dim, int32_t before, int32_t behind)
{
    const int32_t size = x->dims[dim];
    if (mode == REFLECT && (before >= size || behind >= size)) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("Argument #4: Padding size should be less than the corresponding input dimension, but got: "
                          "padding (%d, %d) at dimension %d of input %s"), (int)before, (int)behind, dim, pt_shape_of(x));
    }
    if (mode == CIRCULAR && (before > size || behind > size)) {
        pt_fail(MP_ERROR_TEXT("Padding value causes wrapping around more than once."));
    }
    const int64_t total = (int64_t)size + before + behind;
    const bool crossed = mode == CIRCULAR && (before < 0 ? before : 0) + (int64_t)(behind < 0 ? behind : 0) + size < 0;
    if (total < 0 || total > INT32_MAX || (size == 0 && total > 0) || crossed) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("a dimension of size %d cannot be padded by %d and %d"),
            (int)size, (int)before, (int)behind);
    }
}

/* One dimension of x, larger by repeated elements; negative numbers take some away. */
static pt_tensor_t *extend(pt_tensor_t *x, int mode, int dim, int32_t before, int32_t behind)
{
    check_pad(mode, x, dim, before, behind);
    if (mode == CIRCULAR) { /* what is taken away is not repeated */
        const int32_t from = before < 0 ? -before : 0;
        x = pt_slice(x, dim, from, x->dims[dim] - from + (behind < 0 ? behind : 0), 1);
        before = before < 0 ? 0 : before;
        behind = behind < 0 ? 0 : behind;
        check_pad(REPLICATE, x, dim, before, behind);
    }
    const int32_t size = x->dims[dim], total = size + before + behind;
    const int32_t first = before > 0 ? before : 0, end = behind > 0 ? before + size : total;
    if (before == 0 && behind == 0) {
        return x;
    }
    int32_t sizes[PT_MAX_DIMS];
    memcpy(sizes, x->dims, x->ndim * sizeof(int32_t));
    sizes[dim] = total;
    pt_tensor_t *y = pt_new(x->dtype, x->ndim, sizes);
    if (first < end) {
        pt_copy_into(pt_slice(y, dim, first, end - first, 1), pt_slice(x, dim, first - before, end - first, 1));
    }
    for (int32_t k = 0; k < total; k++) {
        if (k < first || k >= end) {
            int32_t at = k - before;
            if (mode == CIRCULAR) {
                at = (at % size + size) % size;
            } else if (mode == REFLECT) {
                at = at < 0 ? -at : 2 * (size - 1) - at;
            } else {
                at = at < 0 ? 0 : size - 1;
            }
            pt_copy_into(pt_select(y, dim, k), pt_select(x, dim, at));
        }
    }
    return y;
}

static pt_tensor_t *constant(pt_tensor_t *x, int count, const int32_t *pad, mp_obj_t value)
{
    int32_t sizes[PT_MAX_DIMS];
    if (count % 2 != 0 || count / 2 > x->ndim) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("Length of pad should be even and no more than twice the number of dimensions of the input. Pad "
                          "length is %d while the input has %d dimensions."), count, (int)x->ndim);
    }
    pt_tensor_t *inside = x;
    for (int d = 0; d < x->ndim; d++) {
        const int k = 2 * (x->ndim - 1 - d);
        const int32_t before = k < count ? pad[k] : 0, behind = k < count ? pad[k + 1] : 0;
        const int64_t from = before < 0 ? -(int64_t)before : 0, cut = from + (behind < 0 ? -(int64_t)behind : 0);
        const int64_t size = (int64_t)x->dims[d] + before + behind;
        sizes[d] = size > INT32_MAX ? INT32_MAX : (int32_t)size;
        if (size < 0) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("The input size %d, plus negative padding %d and %d, resulted in a negative output size, "
                              "which is invalid."), (int)x->dims[d], (int)before, (int)behind);
        }
        const int32_t left = x->dims[d] > cut ? (int32_t)(x->dims[d] - cut) : 0;
        inside = pt_slice(inside, d, from < x->dims[d] ? (int32_t)from : 0, left, 1);
    }
    pt_tensor_t *y = pt_new(x->dtype, x->ndim, sizes), *to = y;
    pt_copy_into(y, pt_from_number(value, x->dtype));
    for (int d = 0; d < x->ndim; d++) {
        const int k = 2 * (x->ndim - 1 - d);
        const int32_t before = k < count && pad[k] > 0 ? pad[k] : 0;
        to = pt_slice(to, d, before < sizes[d] ? before : 0, inside->dims[d], 1);
    }
    pt_copy_into(to, inside);
    return y;
}

/* (self, pad, value) */
mp_obj_t pt_constant_pad(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor;
    return pt_finish(c, constant(x, c->args[1].count, c->args[1].v.ints, c->args[2].object), x->dtype);
}

static pt_tensor_t *by_mode(pt_tensor_t *x, int mode, int count, const int32_t *pad)
{
    const int rank = count / 2;
    if (count % 2 != 0 || rank < 1 || rank > 3 || (x->ndim != rank + 1 && x->ndim != rank + 2)) {
        mp_raise_msg_varg(&mp_type_NotImplementedError,
            MP_ERROR_TEXT("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now, got %d numbers for "
                          "a tensor of %d dimensions"), count, (int)x->ndim);
    }
    pt_tensor_t *y = x;
    for (int k = 0; k < rank; k++) {
        y = extend(y, mode, x->ndim - 1 - k, pad[2 * k], pad[2 * k + 1]);
    }
    return pt_contiguous(y, y->dtype);
}

/* reflection_pad and replication_pad of each rank: (self, padding); overload->data: mode, and rank times 4 */
mp_obj_t pt_border_pad(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor;
    const int mode = (int)c->overload->data.number & 3, rank = (int)c->overload->data.number >> 2;
    if (c->args[1].count != 2 * rank || (x->ndim != rank + 1 && x->ndim != rank + 2)) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("Expected %dD or %dD (batch mode) tensor and %d numbers of padding, but got: %s"), rank + 1,
            rank + 2, 2 * rank, pt_shape_of(x));
    }
    return pt_finish(c, by_mode(x, mode, c->args[1].count, c->args[1].v.ints), x->dtype);
}

/* (self, pad, mode, value) */
mp_obj_t pt_pad(pt_call_t *c)
{
    static const char *const modes[] = {"constant", "reflect", "replicate", "circular"};
    pt_tensor_t *x = c->args[0].v.tensor;
    const char *name = c->args[2].given ? mp_obj_str_get_str(c->args[2].object) : modes[0];
    const pt_arg_t *value = &c->args[3];
    int mode = 0;
    while (mode < 4 && strcmp(modes[mode], name) != 0) {
        mode++;
    }
    if (mode == CONSTANT) {
        return MP_OBJ_FROM_PTR(constant(x, c->args[1].count, c->args[1].v.ints,
            value->given ? mp_obj_new_float(value->v.f) : MP_OBJ_NEW_SMALL_INT(0)));
    }
    if (mode == 4) {
        mp_raise_msg_varg(&mp_type_NotImplementedError, MP_ERROR_TEXT("Unrecognised padding mode %s"), name);
    }
    if (value->given && value->v.f != 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("Padding mode \"%s\" doesn't take in value argument"), name);
    }
    return MP_OBJ_FROM_PTR(by_mode(x, mode, c->args[1].count, c->args[1].v.ints));
}
