/* Resizing images: plane by plane, volumes first slice by slice and then along their depth. */
#include "dense.h"

#include "resize_bicubic_f32.h"
#include "resize_bilinear_f32.h"
#include "resize_nearest_f32.h"

enum { NEAREST, EXACT, LINEAR, CUBIC, RANK = 4 }; /* overload->data: how, plus 4 times the rank */

/* Input elements an output element, as PyTorch computes it. */
static float scale(int32_t in, int32_t out, bool corners, const pt_arg_t *given)
{
    if (corners) {
        return out > 1 ? (float)(in - 1) / (float)(out - 1) : 0.0f;
    }
    return given->given && given->v.f > 0 ? 1.0f / (float)given->v.f : (float)in / (float)out;
}

static void planes(int how, const pl_resize2d_t *s, int32_t count, const float *x, float *y)
{
    for (int32_t k = 0; k < count; k++, x += s->ih * s->iw, y += s->oh * s->ow) {
        if (how == CUBIC) {
            pl_resize_bicubic_f32(s, x, y);
        } else if (how == LINEAR) {
            pl_resize_bilinear_f32(s, x, y);
        } else {
            pl_resize_nearest_f32(s, x, y, how == EXACT ? 0.5f : 0.0f);
        }
        pt_poll();
    }
}

/* (self, output_size, scales...), with align_corners before the scales of all but the nearest. */
mp_obj_t pt_resize(pt_call_t *c)
{
    const int how = (int)c->overload->data.number % RANK, rank = (int)c->overload->data.number / RANK;
    const pt_tensor_t *given = c->args[0].v.tensor;
    const pt_arg_t *size = &c->args[1], *scales = &c->args[how >= LINEAR ? 3 : 2];
    const bool corners = how >= LINEAR && c->args[2].v.i;
    const int dtype = given->dtype;
    if (given->ndim != rank + 2 || pt_product(given, 1, rank + 2) == 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("Non-empty %dD data tensor expected but got a tensor with sizes %s"), rank + 2, pt_shape_of(given));
    }
    if (size->count != rank) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("It is expected output_size equals to %d, but got size %d"),
            rank, (int)size->count);
    }
    if (!pt_is_float(dtype) && !(dtype == PT_UINT8 && how < LINEAR)) {
        pt_not_implemented("upsample", dtype);
    }
    int32_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, sizes[5] = {given->dims[0], given->dims[1]};
    float step[3] = {1.0f, 1.0f, 1.0f};
    for (int d = 0; d < rank; d++) {
        const int to = 3 - rank + d;
        in[to] = given->dims[2 + d];
        out[to] = sizes[2 + d] = size->v.ints[d];
        if (out[to] <= 0) {
            mp_raise_msg_varg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("Input and output sizes should be greater than 0, but got output %s"),
                pt_shape_text(rank, size->v.ints));
        }
        step[to] = scale(in[to], out[to], corners, &scales[d]);
    }
    const int32_t count = given->dims[0] * given->dims[1];
    const float *x = pt_floats(c, 0);
    pt_tensor_t *y = pt_new(PT_FLOAT32, rank + 2, sizes);
    const pl_resize2d_t flat = {.n = 1, .ih = in[1], .iw = in[2], .c = 1, .oh = out[1], .ow = out[2],
                                .align_corners = corners, .sh = step[1], .sw = step[2]};
    if (rank < 3) {
        planes(how, &flat, count, x, (float *)y->data);
    } else {
        const int32_t middle[] = {count, in[0], out[1] * out[2]};
        pt_tensor_t *slices = pt_new(PT_FLOAT32, 3, middle);
        const pl_resize2d_t deep = {.n = 1, .ih = in[0], .iw = middle[2], .c = 1, .oh = out[0], .ow = middle[2],
                                    .align_corners = corners, .sh = step[0], .sw = 1.0f};
        planes(how, &flat, count * in[0], x, (float *)slices->data);
        planes(how, &deep, count, (const float *)slices->data, (float *)y->data);
        pt_keep(slices);
    }
    return pt_finish(c, y, dtype);
}
