/* Rows of a table. */
#include "dense.h"

/* (weight, indices, ...): the other arguments matter only for gradients. */
mp_obj_t pt_embedding(pt_call_t *c)
{
    pt_tensor_t *table = c->args[0].v.tensor;
    const int type = c->args[1].v.tensor->dtype;
    if (table->ndim != 2 || (type != PT_INT64 && type != PT_INT32)) {
        pt_refuse(c, table->ndim == 2);
    }
    table = pt_elements(c, 0, table->dtype);
    const pt_tensor_t *ids = pt_elements(c, 1, PT_INT64);
    int32_t sizes[PT_MAX_DIMS + 1];
    memcpy(sizes, ids->dims, ids->ndim * sizeof(int32_t));
    sizes[ids->ndim] = table->dims[1];
    pt_tensor_t *y = pt_new(table->dtype, ids->ndim + 1, sizes);
    const size_t row = (size_t)(table->dims[1] * pt_size(table->dtype));
    const int64_t *id = (const int64_t *)ids->data;
    for (int32_t k = 0, n = pt_numel(ids); k < n; k++) {
        if (id[k] < 0 || id[k] >= table->dims[0]) {
            mp_raise_msg(&mp_type_IndexError, MP_ERROR_TEXT("index out of range in self"));
        }
        memcpy(y->data + (size_t)k * row, table->data + (size_t)id[k] * row, row);
    }
    return pt_finish(c, y, y->dtype);
}
