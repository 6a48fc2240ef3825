/* softmax, log_softmax. */
#include "dense.h"

#include "functions.h"
#include "log_softmax_f32.h"
#include "softmax_f32.h"

/* (self, dim, dtype) or (self, dim, half to float); overload->data: 1 with a logarithm, 2 where there is no dtype. */
mp_obj_t pt_softmax(pt_call_t *c)
{
    const bool log = c->overload->data.number & 1, plain = c->overload->data.number & 2;
    pt_tensor_t *x = c->args[0].v.tensor;
    const int dtype = !plain && c->args[2].given ? c->args[2].v.dtype : x->dtype;
    const int dim = pt_dim(c, c->args[1].v.i, x->ndim);
    if (!pt_is_float(dtype)) {
        pt_not_implemented(log ? "log_softmax_lastdim_kernel_impl" : "softmax_lastdim_kernel_impl", dtype);
    }
    if (dtype != PT_FLOAT32 && x->dtype != dtype) { /* the input takes that type first */
        x = pt_elements(c, 0, dtype);
    }
    x = pt_elements(c, 0, PT_FLOAT32);
    pt_tensor_t *y = pt_new_like(x, PT_FLOAT32);
    const int32_t axis = x->ndim ? x->dims[dim] : 1, outer = pt_product(x, 0, dim);
    const int32_t inner = pt_product(x, dim + 1, x->ndim), block = axis * inner;
    for (int32_t o = 0; block > 0 && o < outer; o++) {
        const float *from = (const float *)x->data + o * block;
        float *to = (float *)y->data + o * block;
        if (log) {
            pl_log_softmax_f32(from, to, 1, axis, inner);
        } else {
            pl_softmax_f32(from, to, 1, axis, inner);
        }
        pt_poll();
    }
    return pt_finish(c, y, dtype);
}
