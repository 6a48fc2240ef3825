/* Normalization: rows to mean 0 and variance 1 by the compiler's kernels, then scale and shift by channel. */
#include "dense.h"

#include "layer_norm_f32.h"
#include "rms_norm_f32.h"

/* Argument k as floats, one per channel; NULL for None. */
static const float *per_channel(pt_call_t *c, int k, int32_t channels)
{
    const pt_arg_t *arg = &c->args[k];
    if (arg->given && pt_numel(arg->v.tensor) != channels) {
        pt_refuse(c, k);
    }
    return pt_floats(c, k);
}

/* y = x scale + shift over (rows, n): row r is channel r % channels; either may be NULL, y may be x. */
static void affine(
    const float *x, const float *scale, const float *shift, float *y, int32_t rows, int32_t channels, int32_t n)
{
    for (int32_t r = 0; r < rows; r++, x += n, y += n) {
        const float a = scale ? scale[r % channels] : 1.0f, b = shift ? shift[r % channels] : 0.0f;
        for (int32_t k = 0; k < n; k++) {
            y[k] = x[k] * a + b;
        }
        if ((r & 31) == 31) {
            pt_poll();
        }
    }
}

/* (rows, n) to mean 0 and variance 1. */
static void standardize(const float *x, const float *w, const float *b, float *y, int32_t rows, int32_t n, float eps)
{
    for (int32_t r = 0; r < rows; r++) {
        pl_layer_norm_f32(x + r * n, w, b, y + r * n, 1, n, eps);
        pt_poll();
    }
}

static void row_statistics(const float *x, int32_t rows, int32_t n, float eps, float *mean, float *rstd)
{
    for (int32_t r = 0; r < rows; r++, x += n) {
        mean[r] = pl_sum_f32(x, n, 1) / (float)n;
        rstd[r] = 1.0f / pl_sqrt_f32(pl_sum_squares_f32(x, n, 1, mean[r]) / (float)n + eps);
    }
}

static float *floats_of(pt_tensor_t *t) { return (float *)t->data; }

/* Statistics have the type of the input, or of a weight that is wider. */
static int statistics_type(const pt_call_t *c, int weight)
{
    const int dtype = c->args[0].v.tensor->dtype;
    return c->args[weight].given ? pt_promote(dtype, c->args[weight].v.tensor->dtype) : dtype;
}

static mp_obj_t triple(pt_call_t *c, mp_obj_t y, pt_tensor_t *mean, pt_tensor_t *rstd, int dtype)
{
    mp_obj_t items[] = {y, MP_OBJ_FROM_PTR(mean), MP_OBJ_FROM_PTR(rstd)};
    for (int k = 1; k < 3 && (c->out || dtype != PT_FLOAT32); k++) {
        pt_tensor_t *to = pt_result_at(c, k, dtype, mean->ndim, mean->dims);
        pt_copy_into(to, pt_tensor(items[k]));
        items[k] = MP_OBJ_FROM_PTR(to);
    }
    return mp_obj_new_tuple(3, items);
}

/* ---- the last dimensions -------------------------------------------------------------------------------------------- */

/* Checks normalized_shape and the parameters of that shape; the number of elements that one row has. */
static int32_t row_length(pt_call_t *c, int parameters)
{
    const pt_tensor_t *x = c->args[0].v.tensor;
    const pt_arg_t *shape = &c->args[1];
    const int from = x->ndim - shape->count;
    const size_t bytes = shape->count * sizeof(int32_t);
    if (shape->count < 1 || from < 0 || memcmp(x->dims + from, shape->v.ints, bytes) != 0) {
        pt_refuse(c, 1);
    }
    for (int k = 2; k < 2 + parameters; k++) {
        const pt_tensor_t *p = c->args[k].v.tensor;
        if (c->args[k].given && (p->ndim != shape->count || memcmp(p->dims, shape->v.ints, bytes) != 0)) {
            pt_refuse(c, k);
        }
    }
    return pt_product(x, from, x->ndim);
}

/* (input, normalized_shape, weight, bias, eps); overload->data: also mean and 1 / deviation. */
mp_obj_t pt_layer_norm(pt_call_t *c)
{
    const pt_tensor_t *given = c->args[0].v.tensor;
    const int dtype = given->dtype, ndim = given->ndim, from = ndim - c->args[1].count;
    const int statistics = statistics_type(c, 2);
    pt_need_float(c, dtype);
    const int32_t n = row_length(c, 2), rows = pt_product(given, 0, from);
    const float eps = (float)c->args[4].v.f, *w = pt_floats(c, 2), *b = pt_floats(c, 3), *x = pt_floats(c, 0);
    pt_tensor_t *y = pt_new_like(given, PT_FLOAT32);
    standardize(x, w, b, floats_of(y), n ? rows : 0, n, eps);
    if (!c->overload->data.number) {
        return pt_finish(c, y, dtype);
    }
    int32_t sizes[PT_MAX_DIMS];
    for (int d = 0; d < ndim; d++) {
        sizes[d] = d < from ? y->dims[d] : 1;
    }
    pt_tensor_t *mean = pt_new(PT_FLOAT32, ndim, sizes), *rstd = pt_new(PT_FLOAT32, ndim, sizes);
    row_statistics(x, rows, n, eps, floats_of(mean), floats_of(rstd));
    return triple(c, pt_finish(c, y, dtype), mean, rstd, statistics);
}

/* (input, normalized_shape, weight, eps) */
mp_obj_t pt_rms_norm(pt_call_t *c)
{
    const pt_tensor_t *given = c->args[0].v.tensor;
    const int dtype = given->dtype;
    pt_need_float(c, dtype);
    const int32_t n = row_length(c, 1), rows = n ? pt_numel(given) / n : 0;
    const float eps = c->args[3].given ? (float)c->args[3].v.f : 1.1920929e-7f;
    const float *w = pt_floats(c, 2), *x = pt_floats(c, 0);
    pt_tensor_t *y = pt_new_like(given, PT_FLOAT32);
    for (int32_t r = 0; r < rows; r++) {
        pl_rms_norm_f32(x + r * n, w, floats_of(y) + r * n, 1, n, eps);
        pt_poll();
    }
    return pt_finish(c, y, dtype);
}

/* ---- channels --------------------------------------------------------------------------------------------------------- */

static void need_channels(pt_call_t *c)
{
    pt_need_float(c, c->args[0].v.tensor->dtype);
    if (c->args[0].v.tensor->ndim < 2) {
        pt_refuse(c, 0);
    }
}

/* (input, num_groups, weight, bias, eps) */
mp_obj_t pt_group_norm(pt_call_t *c)
{
    const pt_tensor_t *given = c->args[0].v.tensor;
    const int dtype = given->dtype;
    need_channels(c);
    const int32_t images = given->dims[0], channels = given->dims[1], s = pt_product(given, 2, given->ndim);
    const int64_t groups = c->args[1].v.i;
    if (groups <= 0 || channels % groups != 0) {
        pt_refuse(c, 1);
    }
    const float *w = per_channel(c, 2, channels), *b = per_channel(c, 3, channels), *x = pt_floats(c, 0);
    pt_tensor_t *y = pt_new_like(given, PT_FLOAT32);
    const int32_t rows = images * (int32_t)groups, n = channels / (int32_t)groups * s;
    standardize(x, NULL, NULL, floats_of(y), n ? rows : 0, n, (float)c->args[4].v.f);
    if (w || b) {
        affine(floats_of(y), w, b, floats_of(y), images * channels, channels, s);
    }
    return pt_finish(c, y, dtype);
}

/* Argument k, the mean over the images of (1 - momentum) k + momentum fresh / divisor: as PyTorch rounds it. */
static void update_running(pt_call_t *c, int k, const float *fresh, int32_t images, float divisor, float momentum)
{
    if (c->args[k].given) {
        pt_tensor_t *running = c->args[k].v.tensor, *next = pt_new_like(running, PT_FLOAT32);
        const int32_t channels = pt_numel(running);
        float *v = floats_of(next);
        pt_check_writable(running);
        pt_check_itself(running);
        pt_copy_into(next, running);
        for (int32_t n = 0; n < channels; n++) {
            float sum = 0.0f;
            for (int32_t image = 0; image < images; image++) {
                sum += (1.0f - momentum) * v[n] + momentum * (fresh[image * channels + n] / divisor);
            }
            v[n] = sum / (float)images;
        }
        pt_copy_into(running, next);
    }
}

/* The mean of each channel over (images, channels, s), and the sum of squares about it. */
static void channel_sums(const float *x, int32_t images, int32_t channels, int32_t s, float *mean, float *squares)
{
    for (int32_t k = 0; k < channels; k++) {
        float sum = 0.0f;
        for (int32_t n = 0; n < images; n++) {
            sum += pl_sum_f32(x + (n * channels + k) * s, s, 1);
        }
        mean[k] = sum / (float)(images * s);
        sum = 0.0f;
        for (int32_t n = 0; n < images; n++) {
            sum += pl_sum_squares_f32(x + (n * channels + k) * s, s, 1, mean[k]);
        }
        squares[k] = sum;
        pt_poll();
    }
}

/* (input, weight, bias, running_mean, running_var, training, momentum, eps, ...); overload->data: 1 statistics of each
 * image (instance norm), 2 also mean and 1 / deviation. */
mp_obj_t pt_batch_norm(pt_call_t *c)
{
    const pt_tensor_t *given = c->args[0].v.tensor;
    const bool instance = c->overload->data.number & 1, training = c->args[5].v.i;
    const int dtype = given->dtype, statistics = statistics_type(c, 1);
    if (pt_numel(given) == 0 && given->ndim == 1 && !(c->overload->data.number & 2)) {
        return pt_finish(c, pt_new_like(given, dtype), dtype);
    }
    need_channels(c);
    if (!training && !(c->args[3].given && c->args[4].given)) {
        pt_refuse(c, c->args[3].given ? 4 : 3);
    }
    const int32_t images = given->dims[0], channels = given->dims[1], s = pt_product(given, 2, given->ndim);
    const float momentum = (float)c->args[6].v.f, eps = (float)c->args[7].v.f;
    const bool apart = instance && training; /* every image has its own channels */
    const int32_t lanes = apart ? images * channels : channels, count = apart ? s : images * s;
    pt_tensor_t *mean = pt_new(PT_FLOAT32, 1, &lanes), *rstd = pt_new(PT_FLOAT32, 1, &lanes);
    pt_tensor_t *scale = pt_new(PT_FLOAT32, 1, &lanes), *shift = pt_new(PT_FLOAT32, 1, &lanes);
    float *m = floats_of(mean), *v = floats_of(rstd);
    pt_tensor_t *running[2] = {c->args[3].v.tensor, c->args[4].v.tensor}; /* as the caller gave them */
    const float *w = per_channel(c, 1, channels), *b = per_channel(c, 2, channels), *x = pt_floats(c, 0);
    const float *old_mean = per_channel(c, 3, channels), *old_var = per_channel(c, 4, channels);
    c->args[3].v.tensor = running[0];
    c->args[4].v.tensor = running[1];
    if (training) {
        channel_sums(x, apart ? 1 : images, lanes, s, m, v);
        update_running(c, 3, m, lanes / (channels ? channels : 1), 1.0f, momentum);
        update_running(c, 4, v, lanes / (channels ? channels : 1), (float)(count - 1), momentum);
    }
    for (int32_t k = 0; k < lanes; k++) {
        const int32_t channel = k % channels;
        m[k] = training ? m[k] : old_mean[channel];
        v[k] = 1.0f / pl_sqrt_f32((training ? v[k] / (float)count : old_var[channel]) + eps);
        floats_of(scale)[k] = w ? v[k] * w[channel] : v[k];
        floats_of(shift)[k] = (b ? b[channel] : 0.0f) - m[k] * floats_of(scale)[k];
    }
    pt_tensor_t *y = pt_new_like(given, PT_FLOAT32);
    affine(x, floats_of(scale), floats_of(shift), floats_of(y), images * channels, lanes, s);
    const mp_obj_t result = pt_finish(c, y, dtype);
    if (!(c->overload->data.number & 2)) {
        return result;
    }
    const int32_t none = 0;
    if (!training) {
        mean = rstd = pt_new(PT_FLOAT32, 1, &none);
    }
    return triple(c, result, mean, rstd, statistics);
}
