/* Elements: conversion to the compute types and back, and walking over tensors of one broadcast shape. */
#include "tensor.h"

#include "host.h"

#include "half.h"
#include "wide.h"

/* Of two types of halves a build may have one or none. */
#define HALVES (PT_HAS(PT_FLOAT16) || PT_HAS(PT_BFLOAT16))
#define IS_HALF(dtype) (!PT_HAS(PT_BFLOAT16) || (PT_HAS(PT_FLOAT16) && (dtype) == PT_FLOAT16))

/* ---- conversion ---------------------------------------------------------------------------------------- */

#define LOAD(built, type, to_float)                       \
    for (int k = 0; built && k < n; k++, data += bytes) { \
        type v;                                           \
        memcpy(&v, data, sizeof(v));                      \
        if (compute == PT_FLOAT32) {                      \
            f32[k] = to_float(v);                         \
        } else {                                          \
            i64[k] = (int64_t)v;                          \
        }                                                 \
    }                                                     \
    break

void pt_load(const uint8_t *data, int dtype, int32_t step, int compute, void *to, int n)
{
    float *f32 = to;
    int64_t *i64 = to;
    const ptrdiff_t bytes = (ptrdiff_t)step * pt_size(dtype);
    switch (dtype) {
        case PT_BOOL:
        case PT_UINT8:
            LOAD(true, uint8_t, (float));
        case PT_INT8:
            LOAD(PT_HAS(PT_INT8), int8_t, (float));
        case PT_INT16:
            LOAD(PT_HAS(PT_INT16), int16_t, (float));
        case PT_INT32:
            LOAD(true, int32_t, (float));
        case PT_INT64:
            LOAD(true, int64_t, pt_to_float);
        default:
            for (int k = 0; k < n; k++, data += bytes) {
                float f;
                if (!HALVES || dtype == PT_FLOAT32) {
                    memcpy(&f, data, sizeof(f));
                } else {
                    uint16_t h;
                    memcpy(&h, data, sizeof(h));
                    f = IS_HALF(dtype) ? pl_from_f16(h) : pl_from_bf16(h);
                }
                if (compute == PT_FLOAT32) {
                    f32[k] = f;
                } else {
                    i64[k] = pt_to_int(f);
                }
            }
    }
}

void pt_store(uint8_t *data, int dtype, int32_t step, int compute, const void *from, int n)
{
    const float *f32 = from;
    const int64_t *i64 = from;
    const ptrdiff_t bytes = (ptrdiff_t)step * pt_size(dtype);
    switch (dtype) {
        case PT_BOOL:
            for (int k = 0; k < n; k++, data += bytes) {
                *data = compute == PT_FLOAT32 ? f32[k] != 0.0f : i64[k] != 0;
            }
            break;
        case PT_FLOAT16:
        case PT_BFLOAT16:
        case PT_FLOAT32:
            for (int k = 0; k < n; k++, data += bytes) {
                const float f = compute == PT_FLOAT32 ? f32[k] : pt_to_float(i64[k]);
                if (!HALVES || dtype == PT_FLOAT32) {
                    memcpy(data, &f, sizeof(f));
                } else {
                    const uint16_t h = IS_HALF(dtype) ? pl_to_f16(f) : pl_to_bf16(f);
                    memcpy(data, &h, sizeof(h));
                }
            }
            break;
        default: /* from a float to a short integer via int32, as in PyTorch */
            for (int k = 0; k < n; k++, data += bytes) {
                const int64_t v = compute != PT_FLOAT32      ? i64[k]
                    : dtype == PT_UINT8 || dtype == PT_INT64 ? pt_to_int(f32[k])
                                                             : pl_to_i32_f32(f32[k]);
                const int32_t low = (int32_t)v;
                if (dtype == PT_INT64) {
                    memcpy(data, &v, sizeof(v));
                } else if (dtype == PT_INT32) {
                    memcpy(data, &low, sizeof(low));
                } else if (PT_HAS(PT_INT16) && dtype == PT_INT16) {
                    const int16_t lower = (int16_t)low;
                    memcpy(data, &lower, sizeof(lower));
                } else if (PT_HAS(PT_UINT8) || PT_HAS(PT_INT8)) {
                    *data = (uint8_t)low;
                }
            }
    }
}

/* ---- walking ---------------------------------------------------------------------------------------------- */

void pt_walk(pt_walk_t *w, int count, pt_tensor_t *const *operands)
{
    const pt_tensor_t *full = operands[0];
    w->ndim = 0;
    w->count = count;
    w->started = false;
    for (int k = 0; k < count; k++) {
        w->data[k] = operands[k]->data;
        w->width[k] = (uint8_t)pt_size(operands[k]->dtype);
    }
    for (int d = 0; d < full->ndim; d++) { /* outermost first; merged with the one before if possible */
        const int32_t size = full->dims[d];
        int32_t steps[PT_OPERANDS];
        if (size == 1) {
            continue;
        }
        for (int k = 0; k < count; k++) {
            const pt_tensor_t *t = operands[k];
            const int own = d - (full->ndim - t->ndim);
            steps[k] = own < 0 || t->dims[own] == 1 ? 0 : t->dims[t->ndim + own];
        }
        bool join = w->ndim > 0;
        for (int k = 0; join && k < count; k++) {
            join = w->steps[k][w->ndim - 1] == steps[k] * size;
        }
        const int to = join ? w->ndim - 1 : w->ndim++;
        w->sizes[to] = join ? w->sizes[to] * size : size;
        for (int k = 0; k < count; k++) {
            w->steps[k][to] = steps[k];
        }
    }
    if (w->ndim == 0) {
        w->ndim = 1;
        w->sizes[0] = 1;
        for (int k = 0; k < count; k++) {
            w->steps[k][0] = 0;
        }
    }
    w->run = w->sizes[w->ndim - 1];
    for (int d = 0; d < w->ndim; d++) {
        w->at[d] = 0;
        if (w->sizes[d] == 0) {
            w->run = 0;
        }
    }
}

bool pt_next(pt_walk_t *w)
{
    if (!w->started) {
        w->started = true;
        return w->run > 0;
    }
    for (int d = w->ndim - 2; d >= 0; d--) {
        const bool carry = ++w->at[d] == w->sizes[d];
        for (int k = 0; k < w->count; k++) {
            const ptrdiff_t step = (ptrdiff_t)w->steps[k][d] * w->width[k];
            w->data[k] += carry ? -step * (w->sizes[d] - 1) : step;
        }
        if (!carry) {
            return true;
        }
        w->at[d] = 0;
    }
    return false;
}

int pt_broadcast(int count, pt_tensor_t *const *operands, int32_t *sizes)
{
    int ndim = 0;
    for (int k = 0; k < count; k++) {
        ndim = operands[k]->ndim > ndim ? operands[k]->ndim : ndim;
    }
    for (int d = ndim - 1; d >= 0; d--) {
        sizes[d] = 1;
        for (int k = 0; k < count; k++) {
            const int own = d - (ndim - operands[k]->ndim);
            const int32_t size = own < 0 ? 1 : operands[k]->dims[own];
            if (size != 1) {
                if (sizes[d] != 1 && sizes[d] != size) {
                    mp_raise_msg_varg(&mp_type_RuntimeError,
                        MP_ERROR_TEXT("The size of tensor a (%d) must match the size of tensor b (%d) at non-singleton "
                                      "dimension %d"),
                        (int)sizes[d], (int)size, d);
                }
                sizes[d] = size;
            }
        }
    }
    return ndim;
}

void pt_copy_into(pt_tensor_t *to, pt_tensor_t *from)
{
    pt_tensor_t *const operands[] = {to, from};
    const int compute = pt_compute(from->dtype);
    pt_walk_t w;
    pt_chunk_t chunk;
    int32_t since = 0; /* elements since pending interrupts were last handled */
    pt_walk(&w, 2, operands);
    while (pt_next(&w)) {
        const int32_t ys = w.steps[0][w.ndim - 1], xs = w.steps[1][w.ndim - 1];
        if (to->dtype == from->dtype && ys == 1 && xs == 1) {
            memmove(w.data[0], w.data[1], (size_t)w.run * w.width[0]);
            continue;
        }
        for (int32_t k = 0; k < w.run; k += PT_CHUNK) {
            const int n = w.run - k < PT_CHUNK ? (int)(w.run - k) : PT_CHUNK;
            pt_load(w.data[1] + (ptrdiff_t)k * xs * w.width[1], from->dtype, xs, compute, &chunk, n);
            pt_store(w.data[0] + (ptrdiff_t)k * ys * w.width[0], to->dtype, ys, compute, &chunk, n);
            since += n;
            if (since > 64 * PT_CHUNK) {
                since = 0;
                pt_poll();
            }
        }
    }
}
