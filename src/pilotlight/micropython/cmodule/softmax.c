/* softmax, log_softmax. */
#include "dense.h"

#include "functions.h"
#include "log_softmax_f32.h"
#include "softmax_f32.h"

/* (self, dim, dtype) or (self, dim, half to float); overload->data: 1 where there is no dtype. */
static mp_obj_t normalised(pt_call_t *c, void (*kernel)(const float *, float *, int32_t, int32_t, int32_t))
{
    const bool plain = c->overload->data.number;
    pt_tensor_t *x = c->args[0].v.tensor;
    const int dtype = !plain && c->args[2].given ? c->args[2].v.dtype : x->dtype;
    const int dim = pt_dim(c, c->args[1].v.i, x->ndim);
    pt_need_float(c, dtype);
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
        kernel(from, to, 1, axis, inner);
        pt_poll();
    }
    return pt_finish(c, y, dtype);
}

mp_obj_t pt_softmax(pt_call_t *c) { return normalised(c, pl_softmax_f32); }

mp_obj_t pt_log_softmax(pt_call_t *c) { return normalised(c, pl_log_softmax_f32); }
