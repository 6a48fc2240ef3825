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
    pt_tensor_t *result = pt_result(c, dtype, y->ndim, y->dims);
    pt_copy_into(result, y);
    return MP_OBJ_FROM_PTR(result);
}

mp_obj_t pt_pair(pt_tensor_t *a, pt_tensor_t *b)
{
    const mp_obj_t items[] = {MP_OBJ_FROM_PTR(a), MP_OBJ_FROM_PTR(b)};
    return mp_obj_new_tuple(2, items);
}

void pt_not_implemented(const char *what, int dtype)
{
    mp_raise_msg_varg(&mp_type_NotImplementedError, MP_ERROR_TEXT("\"%s\" not implemented for '%s'"), what,
        pt_dtype_name(dtype));
}

void pt_fail(mp_rom_error_text_t text) { mp_raise_msg(&mp_type_RuntimeError, text); }

void pt_float_map(pt_floats_t f, int kind, const float *p, int count, pt_tensor_t *const *operands)
{
    pt_chunk_t chunks[3];
    pt_walk_t w;
    pt_walk(&w, count, operands);
    while (pt_next(&w)) {
        bool direct[3];
        bool all = true;
        for (int k = 0; k < count; k++) {
            direct[k] = operands[k]->dtype == PT_FLOAT32 && w.steps[k][w.ndim - 1] == 1;
            all = all && direct[k];
        }
        for (int32_t at = 0; at < w.run;) {
            const int32_t most = all ? 64 * PT_CHUNK : PT_CHUNK;
            const int n = (int)(w.run - at < most ? w.run - at : most);
            float *rows[3] = {NULL, NULL, NULL};
            for (int k = count - 1; k >= 0; k--) {
                const int32_t step = w.steps[k][w.ndim - 1];
                uint8_t *data = w.data[k] + (ptrdiff_t)at * step * w.width[k];
                rows[k] = direct[k] ? (float *)data : chunks[k].f;
                if (k > 0 && !direct[k]) {
                    pt_load(data, operands[k]->dtype, step, PT_FLOAT32, &chunks[k], n);
                }
            }
            f(kind, p, rows[1], rows[2], rows[0], n);
            if (!direct[0]) {
                const int32_t step = w.steps[0][w.ndim - 1];
                pt_store(w.data[0] + (ptrdiff_t)at * step * w.width[0], operands[0]->dtype, step, PT_FLOAT32, &chunks[0],
                    n);
            }
            at += n;
            pt_poll();
        }
    }
}
