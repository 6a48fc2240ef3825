/* Elements in another order: pixels and channels shuffled, windows unfolded and folded. */
#include "window.h"

static const int32_t ones[3] = {1, 1, 1}, zeros[3] = {0, 0, 0};

/* (self, factor): (..., c r r, h, w) and (..., c, h r, w r); overload->data: 1 back again. */
mp_obj_t pt_pixel_shuffle(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor;
    const bool back = c->overload->data.number;
    const int64_t r = c->args[1].v.i;
    const int n = x->ndim - 3;
    if (n < 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("%q expects input to have at least 3 dimensions, but got input with %d dimension(s)"), c->op->name,
            (int)x->ndim);
    }
    if (n + 5 > PT_MAX_DIMS) {
        pt_fail(MP_ERROR_TEXT("pixel_shuffle takes at most 6 dimensions"));
    }
    const int32_t *last = x->dims + n;
    if (r <= 0 || r > 32767) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("%q expects a positive factor, but got %d"), c->op->name,
            (int)r);
    }
    if (back ? last[1] % r != 0 || last[2] % r != 0 : last[0] % (r * r) != 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("%q expects sizes to be divisible by the factor, but input.size %s is not divisible by %d"),
            c->op->name, pt_shape_of(x), (int)r);
    }
    static const int32_t forth_order[] = {0, 3, 1, 4, 2}, back_order[] = {0, 2, 4, 1, 3};
    const int32_t f = (int32_t)r;
    const int32_t parts[2][5] = {{last[0] / (f * f), f, f, last[1], last[2]},
                                 {last[0], last[1] / f, f, last[2] / f, f}};
    const int32_t whole[2][3] = {{last[0] / (f * f), last[1] * f, last[2] * f},
                                 {last[0] * f * f, last[1] / f, last[2] / f}};
    int32_t sizes[PT_MAX_DIMS], order[PT_MAX_DIMS];
    memcpy(sizes, x->dims, (size_t)n * sizeof(int32_t));
    memcpy(sizes + n, parts[back], sizeof(parts[0]));
    for (int d = 0; d < n + 5; d++) {
        order[d] = d < n ? d : n + (back ? back_order : forth_order)[d - n];
    }
    pt_tensor_t *y = pt_permute(pt_reshape(x, n + 5, sizes), order);
    memcpy(sizes + n, whole[back], sizeof(whole[0]));
    return pt_finish(c, pt_contiguous(pt_reshape(y, n + 3, sizes), x->dtype), x->dtype);
}

/* (self, groups) */
mp_obj_t pt_channel_shuffle(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor;
    const int64_t groups = c->args[1].v.i;
    if (x->ndim < 3 || x->ndim >= PT_MAX_DIMS) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("channel_shuffle expects input with > 2 dims, but got input with sizes %s"), pt_shape_of(x));
    }
    if (groups <= 0 || x->dims[1] % groups != 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("Number of channels must be divisible by groups. Got %d channels and %d groups."),
            (int)x->dims[1], (int)groups);
    }
    int32_t sizes[PT_MAX_DIMS] = {x->dims[0], (int32_t)groups, x->dims[1] / (int32_t)groups};
    memcpy(sizes + 3, x->dims + 2, (size_t)(x->ndim - 2) * sizeof(int32_t));
    pt_tensor_t *y = pt_transpose(pt_reshape(x, x->ndim + 1, sizes), 1, 2);
    return pt_finish(c, pt_contiguous(pt_reshape(y, x->ndim, x->dims), x->dtype), x->dtype);
}

/* The windows of (kernel_size, dilation, padding, stride) from argument k on. */
static void windows(pt_call_t *c, int k, pl_volume_t *s)
{
    pt_triple(pt_kernel(s), "kernel_size", &c->args[k], 2, ones, 1);
    pt_triple(pt_dilation(s), "dilation", &c->args[k + 1], 2, ones, 1);
    pt_triple(pt_padding(s), "padding", &c->args[k + 2], 2, zeros, 0);
    pt_triple(pt_stride(s), "stride", &c->args[k + 3], 2, ones, 1);
    for (int d = 0; d < 3; d++) {
        if (pt_kernel(s)[d] <= 0 || pt_dilation(s)[d] <= 0 || pt_stride(s)[d] <= 0 || pt_padding(s)[d] < 0) {
            pt_fail(MP_ERROR_TEXT("kernel size, dilation and stride should be greater than zero, padding not negative"));
        }
        pt_sizes_out(s)[d] = (pt_sizes_in(s)[d] + 2 * pt_padding(s)[d] - pt_dilation(s)[d] * (pt_kernel(s)[d] - 1) - 1)
            / pt_stride(s)[d] + 1;
    }
    if (s->oh <= 0 || s->ow <= 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("Given input with spatial size (%d, %d), the shape of the array of sliding blocks is (%d, %d), "
                          "which is too small (non-positive)."), (int)s->ih, (int)s->iw, (int)s->oh, (int)s->ow);
    }
}

static pt_tensor_t *with_batch(int dtype, bool batched, int32_t n, int rank, const int32_t *sizes)
{
    int32_t all[5] = {n};
    memcpy(all + batched, sizes, (size_t)rank * sizeof(int32_t));
    return pt_new(dtype, rank + batched, all);
}

/* (self, kernel_size, dilation, padding, stride): (n, c, h, w) -> (n, c kh kw, windows) */
mp_obj_t pt_im2col(pt_call_t *c)
{
    const pt_tensor_t *given = c->args[0].v.tensor;
    const int dtype = given->dtype;
    pl_volume_t s;
    if (dtype != PT_BOOL) {
        pt_need_float("im2col_out_cpu", given);
    }
    const bool batched = pt_volume(&s, "im2col", given, 2);
    windows(c, 1, &s);
    const int32_t sizes[] = {s.c * s.kh * s.kw, s.oh * s.ow};
    const float *x = pt_floats(c, 0);
    pt_tensor_t *y = with_batch(PT_FLOAT32, batched, s.n, 2, sizes);
    for (int32_t n = 0; n < s.n; n++) {
        pt_gather(&s, x + n * s.c * s.ih * s.iw, s.c, 0, sizes[1], (float *)y->data + n * sizes[0] * sizes[1]);
        pt_poll();
    }
    return pt_finish(c, y, dtype);
}

/* One image: x (channels, kh, kw, oh, ow) added to where its elements came from in y (channels, ih, iw). */
static void fold(const pl_volume_t *s, const float *x, float *y)
{
    for (int32_t k = 0; k < s->c * s->kh * s->kw; k++) {
        float *plane = y + k / s->kw / s->kh * s->ih * s->iw;
        const int32_t a = k / s->kw % s->kh * s->dh - s->ph, b = k % s->kw * s->dw - s->pw;
        for (int32_t v = 0; v < s->oh; v++) {
            for (int32_t u = 0; u < s->ow; u++, x++) {
                const int32_t row = v * s->sh + a, col = u * s->sw + b;
                if (row >= 0 && row < s->ih && col >= 0 && col < s->iw) {
                    plane[row * s->iw + col] += *x;
                }
            }
        }
    }
}

/* (self, output_size, kernel_size, dilation, padding, stride): (n, c kh kw, windows) -> (n, c, h, w) */
mp_obj_t pt_col2im(pt_call_t *c)
{
    const pt_tensor_t *given = c->args[0].v.tensor;
    const int dtype = given->dtype;
    const bool batched = given->ndim == 3;
    pl_volume_t s = {.id = 1};
    pt_need_float("col2im_out_cpu", given);
    if (given->ndim != 2 && !batched) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("Expected 2D or 3D (batch mode) tensor for input, but got input of sizes: %s"), pt_shape_of(given));
    }
    pt_triple(pt_sizes_in(&s), "output_size", &c->args[1], 2, ones, 1);
    windows(c, 2, &s);
    const int32_t rows = given->dims[batched], taps = s.kh * s.kw;
    if (rows % taps != 0 || given->dims[batched + 1] != s.oh * s.ow) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("Given output_size=(%d, %d), expected size of input's dimension 2 to match the calculated number "
                          "of sliding blocks %d * %d = %d, but got input of sizes %s"), (int)s.ih, (int)s.iw, (int)s.oh,
            (int)s.ow, (int)(s.oh * s.ow), pt_shape_of(given));
    }
    s.n = batched ? given->dims[0] : 1;
    s.c = rows / taps;
    const int32_t sizes[] = {s.c, s.ih, s.iw}, out = s.c * s.ih * s.iw;
    const float *x = pt_floats(c, 0);
    pt_tensor_t *y = with_batch(PT_FLOAT32, batched, s.n, 3, sizes);
    memset(y->data, 0, (size_t)(s.n * out) * sizeof(float));
    for (int32_t n = 0; n < s.n; n++) {
        fold(&s, x + n * rows * s.oh * s.ow, (float *)y->data + n * out);
        pt_poll();
    }
    return pt_finish(c, y, dtype);
}
