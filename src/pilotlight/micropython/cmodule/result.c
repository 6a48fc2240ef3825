/* The tensors that kernels write. */
#include "shape.h"

static bool same_sizes(const pt_tensor_t *t, int ndim, const int32_t *sizes)
{
    for (int d = 0; d < ndim; d++) {
        if (t->dims[d] != sizes[d]) {
            return false;
        }
    }
    return t->ndim == ndim;
}

/* ---- memory that operands share -------------------------------------------------------------------------------- */

static NORETURN void refuse(bool itself)
{
    mp_raise_msg(&mp_type_RuntimeError,
        itself
            ? MP_ERROR_TEXT("unsupported operation: more than one element of the written-to tensor refers to a single "
                            "memory location. Please clone() the tensor before performing the operation.")
            : MP_ERROR_TEXT("unsupported operation: some elements of the input tensor and the written-to tensor refer "
                            "to a single memory location. Please clone() the tensor before performing the operation."));
}

/* Dense and without overlap, in any order of dimensions. */
static bool is_dense(const pt_tensor_t *t)
{
    uint32_t expected = 1, seen = 0;
    for (int d = 0; d < t->ndim; d++) {
        if (!(seen & 1u << d) && t->dims[d] > 1 && (uint32_t)t->dims[t->ndim + d] == expected) {
            expected *= (uint32_t)t->dims[d];
            seen |= 1u << d;
            d = -1;
        }
    }
    for (int d = 0; d < t->ndim; d++) {
        if (!(seen & 1u << d) && t->dims[d] > 1) {
            return false;
        }
    }
    return true;
}

pt_tensor_t *pt_new_as(const pt_tensor_t *t, int dtype)
{
    pt_tensor_t *made = pt_new_like(t, dtype);
    if (is_dense(t)) {
        memcpy(pt_strides(made), t->dims + t->ndim, t->ndim * sizeof(int32_t));
    }
    return made;
}

/* The bytes that a tensor's elements occupy. */
static void extent(const pt_tensor_t *t, const uint8_t **first, const uint8_t **end)
{
    ptrdiff_t high = 0;
    for (int d = 0; d < t->ndim; d++) {
        high += (ptrdiff_t)(t->dims[d] - 1) * t->dims[t->ndim + d];
    }
    *first = t->data;
    *end = t->data + (high + 1) * pt_size(t->dtype);
}

static bool meet(const pt_tensor_t *a, const pt_tensor_t *b)
{
    const uint8_t *first, *end, *other, *other_end;
    if (a == b) {
        return true;
    }
    if (a->owner != b->owner || !a->owner || !pt_numel(a) || !pt_numel(b)) {
        return false;
    }
    extent(a, &first, &end);
    extent(b, &other, &other_end);
    return first < other_end && other < end;
}

void pt_check_itself(const pt_tensor_t *written)
{
    for (int d = 0; d < written->ndim; d++) {
        if (written->dims[d] > 1 && written->dims[written->ndim + d] == 0 && pt_numel(written)) {
            refuse(true);
        }
    }
}

void pt_check_overlap(const pt_tensor_t *written, const pt_tensor_t *read, bool apart)
{
    if (!meet(written, read) || (written != read && (!is_dense(written) || !is_dense(read)))) {
        return;
    }
    const bool same = written == read
        || (written->data == read->data && written->ndim == read->ndim
            && pt_numel(written) * pt_size(written->dtype) == pt_numel(read) * pt_size(read->dtype)
            && memcmp(written->dims + written->ndim, read->dims + read->ndim, written->ndim * sizeof(int32_t)) == 0);
    if (apart || !same) {
        refuse(false);
    }
}

void pt_check_arguments(const pt_tensor_t *written, mp_obj_t o, bool apart)
{
    mp_cstack_check(); /* lists of lists */
    size_t count = 1;
    mp_obj_t *items = &o;
    if (!pt_is_tensor(o) && !pt_sequence(o, &count, &items)) {
        return;
    }
    for (size_t k = 0; k < count; k++) {
        if (pt_is_tensor(items[k])) {
            pt_check_overlap(written, pt_tensor(items[k]), apart);
        } else {
            pt_check_arguments(written, items[k], apart);
        }
    }
}

/* A resized tensor would lose its elements before they are read. */
static void check(const pt_call_t *c, const pt_tensor_t *written, bool other_shape)
{
    for (int k = 0; c->overload && c->laps == PT_APART && k < c->overload->count; k++) {
        pt_check_arguments(written, c->args[k].object, other_shape);
    }
    if (c->laps != PT_ANYWHERE) {
        pt_check_itself(written);
    }
}

pt_tensor_t *pt_unwritten(pt_call_t *c, int k)
{
    pt_tensor_t *t = c->args[k].v.tensor;
    bool shared = c->out && meet(c->out, t);
    for (int n = 1; c->out && n < c->overload->outs; n++) {
        shared = shared || meet(c->more[n - 1], t);
    }
    c->laps = PT_READ;
    if (shared) {
        pt_tensor_t *copy = pt_new_like(t, t->dtype);
        pt_copy_into(copy, t);
        t = c->args[k].v.tensor = copy;
    }
    return t;
}

/* ---- results --------------------------------------------------------------------------------------------------- */

static pt_tensor_t *result(pt_call_t *c, pt_tensor_t *out, int dtype, int ndim, const int32_t *sizes)
{
    if (!out) {
        return pt_new(dtype, ndim, sizes);
    }
    if (pt_is_float(dtype) > pt_is_float(out->dtype) || (dtype != PT_BOOL && out->dtype == PT_BOOL)) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("result type %s can't be cast to the desired output type %s"), pt_dtypes[dtype].type,
            pt_dtypes[out->dtype].type);
    }
    pt_check_writable(out);
    const bool same = same_sizes(out, ndim, sizes);
    if (same || !c->in_place) {
        check(c, out, !same);
    }
    if (same) {
        return out;
    }
    if (c->in_place) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("output with shape %s doesn't match the broadcast shape %s"),
            pt_shape_text(out->ndim, out->dims), pt_shape_text(ndim, sizes));
    }
    pt_become(out, pt_new(out->dtype, ndim, sizes)); /* PyTorch resizes out= as well */
    return out;
}

pt_tensor_t *pt_result(pt_call_t *c, int dtype, int ndim, const int32_t *sizes)
{
    return result(c, c->out, dtype, ndim, sizes);
}

pt_tensor_t *pt_result_at(pt_call_t *c, int k, int dtype, int ndim, const int32_t *sizes)
{
    return result(c, k && c->out ? c->more[k - 1] : c->out, dtype, ndim, sizes);
}

int pt_dim(pt_call_t *c, int64_t dim, int ndim)
{
    const int range = ndim ? ndim : 1;
    (void)c;
    if (dim < -range || dim >= range) {
        mp_raise_msg_varg(&mp_type_IndexError,
            MP_ERROR_TEXT("Dimension out of range (expected to be in range of [%d, %d], but got %d)"), -range,
            range - 1, (int)dim);
    }
    return (int)(dim < 0 ? dim + range : dim);
}
