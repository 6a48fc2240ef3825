/* Padding with a number: a larger tensor, and the old one in it. */
#include "dense.h"

/* (self, pad, value): numbers for the last dimension come first; negative ones remove elements. */
mp_obj_t pt_constant_pad(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor, *inside = x;
    const int count = c->args[1].count;
    const int32_t *pad = c->args[1].v.ints;
    int32_t sizes[PT_MAX_DIMS];
    if (count % 2 != 0 || count / 2 > x->ndim) {
        pt_refuse(c, 1);
    }
    memcpy(sizes, x->dims, x->ndim * sizeof(int32_t));
    for (int k = 0; k < count; k += 2) {
        const int d = x->ndim - 1 - k / 2;
        const int64_t size = (int64_t)sizes[d] + pad[k] + pad[k + 1];
        const int32_t from = pad[k] < 0 ? -pad[k] : 0, end = sizes[d] + (pad[k + 1] < 0 ? pad[k + 1] : 0);
        if (size < 0) {
            pt_refuse(c, 1);
        }
        inside = pt_slice(inside, d, from, end > from ? end - from : 0, 1);
        sizes[d] = size > INT32_MAX ? INT32_MAX : (int32_t)size;
    }
    pt_tensor_t *y = pt_new(x->dtype, x->ndim, sizes), *to = y;
    pt_fill(y, c->args[2].object);
    for (int k = 0; k < count; k += 2) {
        const int d = x->ndim - 1 - k / 2;
        to = pt_slice(to, d, pad[k] > 0 ? pad[k] : 0, inside->dims[d], 1);
    }
    pt_copy_into(to, inside);
    return pt_finish(c, y, x->dtype);
}
