/* Convolution: products of the weights with the inputs under the kernel, which are gathered for a few outputs at a
 * time. Transposed convolution and integers go element by element. */
#include "window.h"

#include "conv3d_f32.h"
#include "depthwise3d_f32.h"
#include "generated/conv3d_i64.h"

static const int32_t ones[3] = {1, 1, 1}, zeros[3] = {0, 0, 0};

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

enum { RANK = 3, BY_NAME = 4, TRANSPOSED = 8 }; /* overload->data: rank (0: any), padding by name, transposed */

typedef struct {
    pl_volume_t s;
    int rank;
    bool transposed, batched;
    int32_t behind[3]; /* padding behind the input, and what is added to the output of transposed convolution */
} conv_t;

static void least(const int32_t *numbers, int32_t at_least, mp_rom_error_text_t text)
{
    for (int d = 0; d < 3; d++) {
        if (numbers[d] < at_least) {
            pt_fail(text);
        }
    }
}

static void check_channels(const conv_t *v, const pt_tensor_t *x, const pt_tensor_t *w, const pt_arg_t *bias)
{
    const pl_volume_t *s = &v->s;
    const int32_t seen = v->transposed ? w->dims[0] : w->dims[1] * s->groups;
    if (w->dims[0] % s->groups != 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("Given groups=%d, expected weight to be divisible by %d at dimension 0, but got weight of size "
                          "[%s] instead"), (int)s->groups, (int)s->groups, pt_shape_of(w));
    }
    if (seen != s->c) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("Given groups=%d, weight of size %s, expected input%s to have %d channels, but got %d channels "
                          "instead"), (int)s->groups, pt_shape_of(w), pt_shape_of(x), (int)seen, (int)s->c);
    }
    if (bias->given && (bias->v.tensor->ndim != 1 || bias->v.tensor->dims[0] != s->oc)) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("Given weight of size %s, expected bias to be 1-dimensional with %d elements, but got bias of "
                          "size %s instead"), pt_shape_of(w), (int)s->oc, pt_shape_of(bias->v.tensor));
    }
}

static void check_types(const pt_tensor_t *x, const pt_tensor_t *w, const pt_arg_t *bias)
{
    if (x->dtype != w->dtype) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("expected scalar type %s but found %s"),
            pt_dtype_name(x->dtype), pt_dtype_name(w->dtype));
    }
    if (bias->given && bias->v.tensor->dtype != x->dtype) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("Input type (%s) and bias type (%s) should be the same"),
            pt_dtype_name(x->dtype), pt_dtype_name(bias->v.tensor->dtype));
    }
    if (x->dtype == PT_BOOL) {
        pt_not_implemented("slow_conv2d_cpu", PT_BOOL);
    }
}

/* padding="same": as much as keeps the size, the odd one behind. */
static void padding_by_name(conv_t *v, const pt_arg_t *name)
{
    const char *text = name->given ? mp_obj_str_get_str(name->object) : "valid";
    const bool same = strcmp(text, "same") == 0;
    pl_volume_t *s = &v->s;
    if (!same && strcmp(text, "valid") != 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("Invalid padding string: '%s'"), text);
    }
    for (int d = 0; d < 3; d++) {
        if (same && pt_stride(s)[d] != 1) {
            pt_fail(MP_ERROR_TEXT("padding='same' is not supported for strided convolutions"));
        }
        const int64_t all = same ? (int64_t)pt_dilation(s)[d] * (pt_kernel(s)[d] - 1) : 0;
        if (all > 1 << 28) {
            pt_fail(MP_ERROR_TEXT("dilation is too large"));
        }
        pt_padding(s)[d] = (int32_t)(all / 2);
        v->behind[d] = (int32_t)(all - all / 2);
    }
}

static void output_sizes(conv_t *v)
{
    pl_volume_t *s = &v->s;
    for (int d = 0; d < 3; d++) {
        const int32_t in = pt_sizes_in(s)[d], k = pt_kernel(s)[d], step = pt_stride(s)[d], p = pt_padding(s)[d];
        const int64_t reach = (int64_t)pt_dilation(s)[d] * (k - 1) + 1;
        int32_t *out = &pt_sizes_out(s)[d];
        if (v->transposed) {
            if (v->behind[d] >= step && v->behind[d] >= pt_dilation(s)[d]) {
                mp_raise_msg_varg(&mp_type_RuntimeError,
                    MP_ERROR_TEXT("output padding must be smaller than either stride or dilation, but got "
                                  "output_padding: %d stride: %d dilation: %d"), (int)v->behind[d], (int)step,
                    (int)pt_dilation(s)[d]);
            }
            const int64_t size = ((int64_t)in - 1) * step - 2 * p + reach + v->behind[d];
            *out = (int32_t)size;
            if (size <= 0 || size > INT32_MAX) {
                pt_fail(MP_ERROR_TEXT("Given input size per channel, calculated output size is too small"));
            }
            pt_stride(s)[d] = -step; /* how the kernels know */
        } else {
            if (in + p + v->behind[d] < reach) {
                mp_raise_msg_varg(&mp_type_RuntimeError,
                    MP_ERROR_TEXT("Calculated padded input size per channel: (%d). Kernel size: (%d). Kernel size can't "
                                  "be greater than actual input size"), (int)(in + p + v->behind[d]), (int)reach);
            }
            *out = (in + p + v->behind[d] - (int32_t)reach) / step + 1;
        }
    }
}

/* Reads the arguments of conv1d..3d, their transposed ones and convolution. */
static void shape(pt_call_t *c, conv_t *v)
{
    const int number = (int)c->overload->data.number;
    const pt_arg_t *a = c->args;
    const pt_tensor_t *x = a[0].v.tensor, *w = a[1].v.tensor;
    pl_volume_t *s = &v->s;
    const bool any = (number & RANK) == 0;
    v->rank = any ? w->ndim - 2 : number & RANK;
    v->transposed = any ? a[6].v.i : (number & TRANSPOSED) != 0;
    const pt_arg_t *dilation = any ? &a[5] : v->transposed ? &a[7] : &a[5];
    const int64_t groups = any ? a[8].v.i : a[6].v.i;
    if (w->ndim != v->rank + 2 || v->rank < 1 || v->rank > 3) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("expected a weight of %d dimensions, but got weight of size %s"),
            v->rank + 2, pt_shape_of(w));
    }
    v->batched = pt_volume(s, v->transposed ? "conv_transpose" : "conv", x, v->rank);
    for (int d = 0; d < 3; d++) {
        pt_kernel(s)[d] = d < 3 - v->rank ? 1 : w->dims[2 + d - (3 - v->rank)];
    }
    pt_triple(pt_stride(s), "stride", &a[3], v->rank, ones, 1);
    pt_triple(pt_dilation(s), "dilation", dilation, v->rank, ones, 1);
    least(pt_stride(s), 1, MP_ERROR_TEXT("non-positive stride is not supported"));
    least(pt_dilation(s), 1, MP_ERROR_TEXT("dilation should be greater than zero"));
    if (groups <= 0 || groups > INT32_MAX) {
        pt_fail(MP_ERROR_TEXT("non-positive groups is not supported"));
    }
    s->groups = (int32_t)groups;
    s->oc = v->transposed ? w->dims[1] * s->groups : w->dims[0];
    if (number & BY_NAME) {
        padding_by_name(v, &a[4]);
    } else {
        pt_triple(pt_padding(s), "padding", &a[4], v->rank, zeros, 0);
        least(pt_padding(s), 0, MP_ERROR_TEXT("negative padding is not supported"));
        memcpy(v->behind, pt_padding(s), sizeof(v->behind));
        if (v->transposed) {
            pt_triple(v->behind, "output_padding", any ? &a[7] : &a[5], v->rank, zeros, 0);
            least(v->behind, 0, MP_ERROR_TEXT("negative output_padding is not supported"));
        }
    }
    check_channels(v, x, w, &a[2]);
    check_types(x, w, &a[2]);
    output_sizes(v);
}

/* ---- floats -------------------------------------------------------------------------------------------------------- */

#define TILE (sizeof(void *) == 8 ? 32768 : 4096) /* floats that are gathered at a time */
#define LEAST_COLUMNS (sizeof(void *) == 8 ? 16 : 4)

/* `n` outputs from number `at` on of one row: the inputs under one tap, zeros where there are none. */
static void gather_run(const pl_volume_t *s, const float *row, int32_t tap, int32_t at, int32_t n, float *to)
{
    const int32_t first = tap * s->dw - s->pw;
    int32_t k = 0;
    for (; k < n && (at + k) * s->sw + first < 0; k++) {
        to[k] = 0.0f;
    }
    const int32_t room = s->iw - 1 - first;
    int32_t end = room < 0 ? 0 : room / s->sw + 1 - at; /* outputs whose input is left of the right border */
    end = end > n ? n : end;
    if (s->sw == 1 && end > k) {
        memcpy(to + k, row + at + k + first, (size_t)(end - k) * sizeof(float));
        k = end;
    }
    for (; k < end; k++) {
        to[k] = row[(at + k) * s->sw + first];
    }
    for (; k < n; k++) {
        to[k] = 0.0f;
    }
}

void pt_gather(const pl_volume_t *s, const float *x, int32_t channels, int32_t at, int32_t n, float *to)
{
    const int32_t u = at % s->ow, v = at / s->ow % s->oh, z = at / s->ow / s->oh;
    const int32_t taps = s->kd * s->kh * s->kw;
    for (int32_t k = 0; k < channels * taps; k++) {
        const float *plane = x + k / taps * s->id * s->ih * s->iw;
        const int32_t e = k % s->kw, b = k / s->kw % s->kh, a = k / s->kw / s->kh % s->kd;
        int32_t col = u, row = v, slice = z;
        for (int32_t done = 0; done < n;) {
            const int32_t run = s->ow - col < n - done ? s->ow - col : n - done;
            const int32_t in_row = row * s->sh - s->ph + b * s->dh, in_slice = slice * s->sd - s->pd + a * s->dd;
            if (in_row >= 0 && in_row < s->ih && in_slice >= 0 && in_slice < s->id) {
                gather_run(s, plane + (in_slice * s->ih + in_row) * s->iw, e, col, run, to);
            } else {
                memset(to, 0, (size_t)run * sizeof(float));
            }
            to += run;
            done += run;
            col = 0;
            if (++row == s->oh) {
                row = 0;
                slice++;
            }
        }
    }
}

/* One group of one image: x (icg, id, ih, iw), w (ocg, icg, kd, kh, kw), y (ocg, od, oh, ow); `tile` has room for
 * `columns` outputs, NULL where x can be used as it lies. */
static void convolve(const pl_volume_t *s, const float *x, const float *w, const float *bias, float *y, float *tile,
    int32_t columns)
{
    const int32_t in = s->c / s->groups, out = s->oc / s->groups, pixels = s->od * s->oh * s->ow;
    pl_matmul_t g = {.outer = 1, .inner = 1, .m = out, .k = in * s->kd * s->kh * s->kw, .b_col = 1, .y_row = pixels};
    g.a_row = g.k;
    for (int32_t at = 0; at < pixels; at += columns) {
        const float *b = x + at;
        g.n = pixels - at < columns ? pixels - at : columns;
        g.b_row = pixels;
        if (tile) {
            pt_gather(s, x, in, at, g.n, tile);
            g.b_row = g.n;
            b = tile;
        }
        if (pixels == 1) { /* the rows of w are the columns of the product (1, k) (k, out) */
            const pl_matmul_t t = {.outer = 1, .inner = 1, .m = 1, .k = g.k, .n = out, .b_row = 1, .b_col = g.k};
            pt_gemm(&t, b, w, y);
        } else {
            pt_gemm(&g, w, b, y + at);
        }
    }
    for (int32_t o = 0; bias && o < out; o++) {
        for (int32_t k = 0; k < pixels; k++) {
            y[o * pixels + k] += bias[o];
        }
    }
}

/* Filters that see one channel each. */
static void depthwise(const pl_volume_t *s, const float *x, const float *w, const float *bias, float *y)
{
    const int32_t out = s->oc / s->groups, taps = s->kd * s->kh * s->kw;
    for (int32_t at = 0; at < s->n * s->oc; at++) {
        const int32_t o = at % s->oc;
        pl_depthwise3d_f32(s, x + (at / s->oc * s->c + o / out) * s->id * s->ih * s->iw, w + o * taps,
            bias ? bias[o] : 0.0f, y + at * s->od * s->oh * s->ow);
        pt_poll();
    }
}

static void convolve_all(const pl_volume_t *s, const float *x, const float *w, const float *bias, float *y)
{
    const int32_t in = s->c / s->groups, out = s->oc / s->groups, taps = s->kd * s->kh * s->kw, k = in * taps;
    const int32_t plane = s->id * s->ih * s->iw, pixels = s->od * s->oh * s->ow;
    const bool direct = taps == 1 && plane == pixels && s->sd == 1 && s->sh == 1 && s->sw == 1;
    int32_t columns = (int32_t)TILE / (k ? k : 1) & ~(int32_t)15;
    columns = columns < (int32_t)LEAST_COLUMNS ? (int32_t)LEAST_COLUMNS : columns;
    columns = columns > pixels ? pixels : columns;
    float *tile = direct ? NULL : m_new(float, (size_t)columns * (size_t)k);
    for (int32_t at = 0; at < s->n * s->groups; at++) {
        const int32_t n = at / s->groups, g = at % s->groups;
        convolve(s, x + (n * s->c + g * in) * plane, w + g * out * k, bias ? bias + g * out : NULL,
            y + (n * s->oc + g * out) * pixels, tile, columns);
    }
    if (tile) {
        m_del(float, tile, (size_t)columns * (size_t)k);
    }
}

/* ---- element by element ---------------------------------------------------------------------------------------------- */

/* Transposed convolution of floats, and either of integers. */
static void by_planes(const conv_t *v, int compute, pt_tensor_t *x, pt_tensor_t *w, pt_tensor_t *bias, pt_tensor_t *y)
{
    const pl_volume_t *s = &v->s;
    const int32_t in = s->c / s->groups, out = s->oc / s->groups, taps = s->kd * s->kh * s->kw;
    const int32_t next = v->transposed ? out * taps : taps;
    for (int32_t at = 0; at < s->n * s->oc; at++) {
        const int32_t o = at % s->oc, g = o / out;
        const int32_t image = (at / s->oc * s->c + g * in) * s->id * s->ih * s->iw;
        const int32_t filter = v->transposed ? (g * in * out + o % out) * taps : o * in * taps;
        const int32_t to = at * s->od * s->oh * s->ow;
        if (compute == PT_FLOAT32) {
            pl_conv3d_plane_f32(s, (const float *)x->data + image, (const float *)w->data + filter, next,
                bias ? ((const float *)bias->data)[o] : 0.0f, (float *)y->data + to);
        } else {
            pl_conv3d_plane_i64(s, (const int64_t *)x->data + image, (const int64_t *)w->data + filter, next,
                bias ? ((const int64_t *)bias->data)[o] : 0, (int64_t *)y->data + to);
        }
        pt_poll();
    }
}

mp_obj_t pt_conv(pt_call_t *c)
{
    conv_t v;
    shape(c, &v);
    const int dtype = c->args[0].v.tensor->dtype, compute = pt_compute(dtype);
    pt_tensor_t *x = pt_elements(c, 0, compute), *w = pt_elements(c, 1, compute);
    pt_tensor_t *bias = c->args[2].given ? pt_elements(c, 2, compute) : NULL;
    pt_tensor_t *y = pt_volume_new(&v.s, compute, v.s.oc, v.rank, v.batched);
    if (compute == PT_FLOAT32 && !v.transposed) {
        (v.s.c == v.s.groups && v.s.groups > 1 ? depthwise : convolve_all)(&v.s, (const float *)x->data,
            (const float *)w->data, bias ? (const float *)bias->data : NULL, (float *)y->data);
    } else {
        by_planes(&v, compute, x, w, bias, y);
    }
    return pt_finish(c, y, dtype);
}
