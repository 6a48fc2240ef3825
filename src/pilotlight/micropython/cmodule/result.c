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
    if (same_sizes(out, ndim, sizes)) {
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

/* ---- memory that operands share -------------------------------------------------------------------------------- */

/* The bytes that a tensor's elements lie in. */
static void extent(const pt_tensor_t *t, const uint8_t **first, const uint8_t **end)
{
    ptrdiff_t low = 0, high = 0;
    for (int d = 0; d < t->ndim; d++) {
        const ptrdiff_t reach = (ptrdiff_t)(t->dims[d] - 1) * t->dims[t->ndim + d];
        *(reach < 0 ? &low : &high) += reach;
    }
    *first = t->data + low * pt_size(t->dtype);
    *end = t->data + (high + 1) * pt_size(t->dtype);
}

static bool same_layout(const pt_tensor_t *a, const pt_tensor_t *b)
{
    return a->data == b->data && a->dtype == b->dtype && same_sizes(a, b->ndim, b->dims)
        && memcmp(a->dims + a->ndim, b->dims + b->ndim, (size_t)a->ndim * sizeof(int32_t)) == 0;
}

bool pt_overlap(const pt_tensor_t *written, const pt_tensor_t *read)
{
    const uint8_t *a, *a_end, *b, *b_end;
    if (written->owner != read->owner || !read->owner || same_layout(written, read)) {
        return false;
    }
    extent(written, &a, &a_end);
    extent(read, &b, &b_end);
    return a < b_end && b < a_end && pt_numel(written) && pt_numel(read);
}

void pt_check_overlap(const pt_tensor_t *written, int count, pt_tensor_t *const *read)
{
    for (int d = 0; d < written->ndim; d++) {
        if (written->dims[d] > 1 && written->dims[written->ndim + d] == 0) {
            mp_raise_msg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("unsupported operation: more than one element of the written-to tensor refers to a single "
                              "memory location. Please clone() the tensor before performing the operation."));
        }
    }
    for (int k = 0; k < count; k++) {
        if (pt_overlap(written, read[k]) && pt_is_contiguous(written) && pt_is_contiguous(read[k])) {
            mp_raise_msg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("unsupported operation: some elements of the input tensor and the written-to tensor refer "
                              "to a single memory location. Please clone() the tensor before performing the operation."));
        }
    }
}
