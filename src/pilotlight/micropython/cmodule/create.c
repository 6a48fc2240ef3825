/* New tensors. */
#include "tensor.h"

static void fill(pt_tensor_t *t, int64_t value)
{
    pt_chunk_t chunk;
    pt_tensor_t *const operands[] = {t};
    pt_walk_t w;
    for (int k = 0; k < PT_CHUNK; k++) {
        chunk.i[k] = value;
    }
    pt_walk(&w, 1, operands);
    while (pt_next(&w)) {
        for (int32_t at = 0; at < w.run; at += PT_CHUNK) {
            const int n = w.run - at < PT_CHUNK ? (int)(w.run - at) : PT_CHUNK;
            pt_store(w.data[0] + (ptrdiff_t)at * w.steps[0][w.ndim - 1] * w.width[0], t->dtype,
                w.steps[0][w.ndim - 1], PT_INT64, &chunk, n);
        }
    }
}

/* zeros and ones: (size, *, dtype, ...); overload->data is the value. */
mp_obj_t pt_full(pt_call_t *c)
{
    const pt_arg_t *size = &c->args[0], *dtype = &c->args[1];
    pt_tensor_t *t = pt_result(c, dtype->given ? dtype->v.dtype : PT_FLOAT32, size->count, size->v.ints);
    fill(t, (int64_t)c->overload->data.number);
    return MP_OBJ_FROM_PTR(t);
}

/* add and sub: self + alpha * other. */
mp_obj_t pt_add(pt_call_t *c)
{
    const mp_obj_t alpha = c->args[2].object;
    if (alpha != MP_OBJ_NEW_SMALL_INT(1)) {
        mp_raise_NotImplementedError(NULL);
    }
    return pt_pointwise(c);
}
