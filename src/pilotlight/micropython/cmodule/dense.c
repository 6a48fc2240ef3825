/* Arguments and results of dense operators. */
#include "dense.h"

pt_tensor_t *pt_elements(pt_call_t *c, int k, int dtype)
{
    c->args[k].v.tensor = pt_contiguous(c->args[k].v.tensor, dtype);
    return c->args[k].v.tensor;
}

const float *pt_floats(pt_call_t *c, int k)
{
    return c->args[k].given ? (const float *)pt_elements(c, k, PT_FLOAT32)->data : NULL;
}

mp_obj_t pt_finish(pt_call_t *c, pt_tensor_t *y, int dtype)
{
    if (!c->out && y->dtype == dtype) {
        return MP_OBJ_FROM_PTR(y);
    }
    c->laps = PT_READ;
    pt_tensor_t *result = pt_result(c, dtype, y->ndim, y->dims);
    pt_copy_into(result, y);
    return MP_OBJ_FROM_PTR(result);
}

mp_obj_t pt_pair(pt_tensor_t *a, pt_tensor_t *b)
{
    const mp_obj_t items[] = {MP_OBJ_FROM_PTR(a), MP_OBJ_FROM_PTR(b)};
    return mp_obj_new_tuple(2, items);
}

void pt_no_integers(pt_call_t *c)
{
    mp_raise_msg_varg(&mp_type_NotImplementedError,
        MP_ERROR_TEXT("%q() of integers is not in this build: add int64 to --dtypes"), c->op ? c->op->name : MP_QSTR_);
}

void pt_no_type(pt_call_t *c, int dtype)
{
    mp_raise_msg_varg(&mp_type_NotImplementedError, MP_ERROR_TEXT("\"%q\" not implemented for '%s'"),
        c->op ? c->op->name : MP_QSTR_, pt_dtypes[dtype].type);
}

void pt_need_float(pt_call_t *c, int dtype)
{
    if (!pt_is_float(dtype)) {
        pt_no_type(c, dtype);
    }
}
