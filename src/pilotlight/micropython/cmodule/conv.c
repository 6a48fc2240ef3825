/* Convolution: products of the weights with the inputs under the kernel, which are gathered for a few outputs at a
 * time. Transposed convolution goes element by element, integers go through Python. */
#include "window.h"

#include "generated/conv3d_f32.h"
#include "depthwise3d_f32.h"

static const int32_t ones[3] = {1, 1, 1}, zeros[3] = {0, 0, 0};

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

enum { RANK = 3, BY_NAME = 4, TRANSPOSED = 8 }; /* overload->data: rank (0: any), padding by name, transposed */

typedef struct {
    pl_volume_t s;
    int rank;
    bool transposed, batched;
    int32_t after[3]; /* padding after the input, and what is added to the output of transposed convolution */
} conv_t;

static void check(pt_call_t *c, const conv_t *v)
{
    const pl_volume_t *s = &v->s;
    const pt_tensor_t *x = c->args[0].v.tensor, *w = c->args[1].v.tensor, *bias = c->args[2].v.tensor;
    const int64_t seen = v->transposed ? w->dims[0] : (int64_t)w->dims[1] * s->groups;
    if (w->dims[0] % s->groups != 0 || seen != s->c || w->dtype != x->dtype) {
        pt_refuse(c, 1);
    }
    if (c->args[2].given && (bias->ndim != 1 || bias->dims[0] != s->oc || bias->dtype != x->dtype)) {
        pt_refuse(c, 2);
    }
    if (x->dtype == PT_BOOL) {
        pt_no_type(c, PT_BOOL);
    }
}

/* padding="same": as much as keeps the size, the odd one at the end. */
static void padding_by_name(pt_call_t *c, conv_t *v)
{
    const char *text = c->args[4].given ? mp_obj_str_get_str(c->args[4].object) : "valid";
    const bool same = strcmp(text, "same") == 0;
    pl_volume_t *s = &v->s;
    for (int d = 0; d < 3; d++) {
        const int64_t all = same ? (int64_t)pt_dilation(s)[d] * (pt_kernel(s)[d] - 1) : 0;
        if ((same ? pt_stride(s)[d] != 1 : strcmp(text, "valid") != 0) || all > 1 << 28) {
            pt_refuse(c, 4);
        }
        pt_padding(s)[d] = (int32_t)(all / 2);
        v->after[d] = (int32_t)(all - all / 2);
    }
}

static void output_sizes(pt_call_t *c, conv_t *v)
{
    pl_volume_t *s = &v->s;
    for (int d = 0; d < 3; d++) {
        const int32_t in = pt_sizes_in(s)[d], k = pt_kernel(s)[d], step = pt_stride(s)[d], p = pt_padding(s)[d];
        const int64_t reach = (int64_t)pt_dilation(s)[d] * (k - 1) + 1;
        int32_t *out = &pt_sizes_out(s)[d];
        if (v->transposed) {
            const int64_t size = ((int64_t)in - 1) * step - 2 * p + reach + v->after[d];
            *out = (int32_t)size;
            if ((v->after[d] >= step && v->after[d] >= pt_dilation(s)[d]) || size <= 0 || size > INT32_MAX) {
                pt_refuse(c, 0);
            }
            pt_stride(s)[d] = -step; /* how the kernels know */
        } else {
            if (in + p + v->after[d] < reach) {
                pt_refuse(c, 0);
            }
            *out = (in + p + v->after[d] - (int32_t)reach) / step + 1;
        }
    }
}

/* Reads the arguments of conv1d..3d, their transposed ones and convolution. */
static void shape(pt_call_t *c, conv_t *v)
{
    const int number = (int)c->overload->data.number;
    const pt_arg_t *a = c->args;
    const pt_tensor_t *w = a[1].v.tensor;
    pl_volume_t *s = &v->s;
    const bool any = (number & RANK) == 0;
    v->rank = any ? w->ndim - 2 : number & RANK;
    v->transposed = any ? a[6].v.i : (number & TRANSPOSED) != 0;
    const int64_t groups = any ? a[8].v.i : a[6].v.i;
    if (w->ndim != v->rank + 2 || v->rank < 1 || v->rank > 3) {
        pt_refuse(c, 1);
    }
    v->batched = pt_volume(c, s, v->rank);
    for (int d = 0; d < 3; d++) {
        pt_kernel(s)[d] = d < 3 - v->rank ? 1 : w->dims[2 + d - (3 - v->rank)];
    }
    pt_triple(c, 3, pt_stride(s), v->rank, ones, 1, 1);
    pt_triple(c, !any && v->transposed ? 7 : 5, pt_dilation(s), v->rank, ones, 1, 1);
    if (groups <= 0 || groups > INT32_MAX || (v->transposed && w->dims[1] * groups > INT32_MAX)) {
        pt_refuse(c, any ? 8 : 6);
    }
    s->groups = (int32_t)groups;
    s->oc = v->transposed ? w->dims[1] * s->groups : w->dims[0];
    if (number & BY_NAME) {
        padding_by_name(c, v);
    } else {
        pt_triple(c, 4, pt_padding(s), v->rank, zeros, 0, 0);
        memcpy(v->after, pt_padding(s), sizeof(v->after));
        if (v->transposed) {
            pt_triple(c, any ? 7 : 5, v->after, v->rank, zeros, 0, 0);
        }
    }
    check(c, v);
    output_sizes(c, v);
}

/* ---- floats -------------------------------------------------------------------------------------------------------- */

#define TILE (sizeof(void *) == 8 ? 32768 : 4096) /* floats that are gathered at a time */
#define LEAST_COLUMNS (sizeof(void *) == 8 ? 16 : 4)

/* `n` outputs from number `at` on of one row: the inputs under one tap, zeros outside the input. */
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
 * `columns` outputs, NULL if x can be used in place. */
static void convolve(
    const pl_volume_t *s, const float *x, const float *w, const float *bias, float *y, float *tile, int32_t columns)
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

/* Filters that read one channel each. */
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
    const size_t area = (size_t)columns * (size_t)k;
    float *tile = direct ? NULL : m_new(float, area);
    for (int32_t at = 0; at < s->n * s->groups; at++) {
        const int32_t n = at / s->groups, g = at % s->groups;
        convolve(s, x + (n * s->c + g * in) * plane, w + g * out * k, bias ? bias + g * out : NULL,
            y + (n * s->oc + g * out) * pixels, tile, columns);
    }
    if (tile) {
        m_del(float, tile, area);
    }
}

/* ---- element by element ---------------------------------------------------------------------------------------------- */

/* Transposed convolution. */
static void by_planes(const pl_volume_t *s, const float *x, const float *w, const float *bias, float *y)
{
    const int32_t in = s->c / s->groups, out = s->oc / s->groups, taps = s->kd * s->kh * s->kw;
    for (int32_t at = 0; at < s->n * s->oc; at++) {
        const int32_t o = at % s->oc, g = o / out;
        pl_conv3d_plane_f32(s, x + (at / s->oc * s->c + g * in) * s->id * s->ih * s->iw,
            w + (g * in * out + o % out) * taps, out * taps, bias ? bias[o] : 0.0f, y + at * s->od * s->oh * s->ow);
        pt_poll();
    }
}

mp_obj_t pt_conv(pt_call_t *c)
{
    conv_t v;
    shape(c, &v);
    const int dtype = c->args[0].v.tensor->dtype, compute = pt_compute(dtype);
    pt_tensor_t *y = pt_volume_new(&v.s, compute, v.s.c ? v.s.oc : 0, v.rank, v.batched); /* none for none */
    if (!v.s.c) {
        return pt_finish(c, y, dtype);
    }
    if (compute == PT_FLOAT32) {
        const float *x = pt_floats(c, 0), *w = pt_floats(c, 1), *bias = pt_floats(c, 2);
        (v.transposed                                   ? by_planes
                : v.s.c == v.s.groups && v.s.groups > 1 ? depthwise
                                                        : convolve_all)(&v.s, x, w, bias, (float *)y->data);
    } else {
        const mp_obj_t given[] = {c->args[0].object, c->args[1].object, c->args[2].object};
        y = pt_reshape(pt_tensor(pt_integers(c, MP_QSTR__for_conv, &v.s, 3, given)), y->ndim, y->dims);
    }
    return pt_finish(c, y, dtype);
}
