/* Yes or no, waiting times and choices by weight. */
#include "random.h"

#include "generated/rows.h"

/* ---- yes or no --------------------------------------------------------------------------------------------------- */

void pt_draw_one(const pt_draw_t *d, pt_chunk_t *to, int n)
{
    for (int k = 0; k < n; k++) {
        to->f[k] = (mp_float_t)(int64_t)pt_random53(d->g) * PT_UNIT53 < d->p ? 1.0f : 0.0f;
    }
}

static mp_obj_t same_chance(pt_call_t *c, pt_tensor_t *y, mp_float_t p, const pt_arg_t *generator)
{
    const pt_draw_t d = {.g = pt_generator(c, generator), .p = p};
    if (!(p >= 0 && p <= 1)) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("bernoulli_ expects p to be in [0, 1]"));
    }
    pt_draw(y, pt_draw_one, &d, PT_FLOAT32);
    return MP_OBJ_FROM_PTR(y);
}

/* Every element with the chance that p has there. */
static mp_obj_t own_chance(pt_call_t *c, pt_tensor_t *y, pt_tensor_t *p, const pt_arg_t *generator)
{
    pt_generator_t *g = pt_generator(c, generator);
    pt_tensor_t *const operands[] = {y, p};
    pt_chunk_t chunk;
    pt_walk_t w;
    if (!pt_is_float(p->dtype)) {
        mp_raise_msg_varg(&mp_type_NotImplementedError,
            MP_ERROR_TEXT("\"bernoulli_tensor_cpu_p_\" not implemented for '%s'"),
            pt_dtype_name(p->dtype));
    }
    pt_walk(&w, 2, operands);
    while (pt_next(&w)) {
        const int32_t to = w.steps[0][w.ndim - 1], from = w.steps[1][w.ndim - 1];
        for (int32_t at = 0; at < w.run; at += PT_CHUNK) {
            const int n = w.run - at < PT_CHUNK ? (int)(w.run - at) : PT_CHUNK;
            pt_load(w.data[1] + (ptrdiff_t)at * from * w.width[1], p->dtype, from, PT_FLOAT32, &chunk, n);
            for (int k = 0; k < n; k++) {
                if (!(chunk.f[k] >= 0.0f && chunk.f[k] <= 1.0f)) {
                    mp_raise_msg(&mp_type_RuntimeError,
                        MP_ERROR_TEXT("Expected p_in >= 0 && p_in <= 1 to be true, but got "
                                                                      "false."));
                }
                chunk.f[k] = (float)(pt_random32(g) & 0xffffffu) * 5.9604644775390625e-08f < chunk.f[k] ? 1.0f : 0.0f;
            }
            pt_store(w.data[0] + (ptrdiff_t)at * to * w.width[0], y->dtype, to, PT_FLOAT32, &chunk, n);
            pt_poll();
        }
    }
    return MP_OBJ_FROM_PTR(y);
}

/* bernoulli: overload->data 0: (self), its elements are chances; 1: (self, p); 2: (self, p as a tensor). */
mp_obj_t pt_do_bernoulli(pt_call_t *c)
{
    const int data = (int)c->overload->data.number;
    pt_tensor_t *t = c->args[0].v.tensor, *y = c->in_place ? t : pt_result(c, t->dtype, t->ndim, t->dims);
    if (data == 1) {
        return same_chance(c, y, c->args[1].v.f, &c->args[2]);
    }
    return own_chance(c, y, data ? c->args[1].v.tensor : t, &c->args[data ? 2 : 1]);
}

/* dropout: (input, p, train). */
mp_obj_t pt_do_drop(pt_call_t *c)
{
    pt_tensor_t *x = c->args[0].v.tensor;
    const mp_float_t p = c->args[1].v.f;
    if (!(p >= 0 && p <= 1)) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("dropout probability has to be between 0 and 1"));
    }
    if (p == 0 || !c->args[2].v.i || pt_numel(x) == 0) {
        return c->args[0].object;
    }
    pt_tensor_t *noise = pt_new_like(x, x->dtype);
    if (p == 1) {
        pt_fill(noise, MP_OBJ_NEW_SMALL_INT(0));
    } else {
        same_chance(c, noise, 1 - p, NULL);
        pt_tensor_t *const scaled[] = {noise, pt_from_number(mp_obj_new_float(1 - p), PT_FLOAT32)};
        pt_apply(&pt_row_div, 2, scaled, noise);
    }
    pt_tensor_t *const operands[] = {x, noise};
    return MP_OBJ_FROM_PTR(pt_apply(&pt_row_mul, 2, operands, c->in_place ? x : NULL));
}

/* ---- waiting times ----------------------------------------------------------------------------------------------- */

static void draw_exponential(const pt_draw_t *d, pt_chunk_t *to, int n)
{
    for (int k = 0; k < n; k++) {
        to->f[k] = (float)(-pt_log_rest(pt_random53(d->g)) / d->p);
    }
}

mp_obj_t pt_do_exponential(pt_call_t *c)
{
    const pt_draw_t d = {.g = pt_generator(c, &c->args[2]), .p = c->args[1].v.f};
    if (!(d.p > 0)) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("exponential_ expects lambda > 0.0"));
    }
    if (!pt_is_float(c->args[0].v.tensor->dtype)) {
        mp_raise_msg(&mp_type_NotImplementedError,
            MP_ERROR_TEXT("exponential_: dtype must be a floating point"));
    }
    pt_draw(c->args[0].v.tensor, draw_exponential, &d, PT_FLOAT32);
    return c->args[0].object;
}

/* ---- choices by weight ------------------------------------------------------------------------------------------- */

static void check_weights(const float *p, int32_t size)
{
    float sum = 0.0f;
    for (int32_t k = 0; k < size; k++) {
        if (!(p[k] >= 0.0f && p[k] <= 3.402823466e+38f)) {
            mp_raise_msg(&mp_type_RuntimeError,
                MP_ERROR_TEXT("probability tensor contains either `inf`, `nan` or element < 0"));
        }
        sum += p[k];
    }
    if (!(sum > 0.0f)) {
        mp_raise_msg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("invalid multinomial distribution (sum of probabilities <= 0)"));
    }
}

/* Where a number falls among sums of weights. */
static void with_replacement(pt_generator_t *g, float *p, int32_t size, int64_t *y, int32_t count)
{
    float sum = 0.0f;
    for (int32_t k = 0; k < size; k++) {
        sum += p[k];
        p[k] = sum;
    }
    for (int32_t k = 0; k < size; k++) {
        p[k] /= sum;
    }
    p[size - 1] = 1.0f;
    for (int32_t j = 0; j < count; j++) {
        const mp_float_t u = (mp_float_t)(int64_t)pt_random53(g) * PT_UNIT53;
        int32_t low = 0, high = size;
        while (low < high) {
            const int32_t middle = low + (high - low) / 2;
            if ((mp_float_t)p[middle] < u) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        y[j] = low < size ? low : size - 1;
    }
}

/* The first to arrive when every one waits a time by its weight. */
static void without_replacement(pt_generator_t *g, float *p, int32_t size, int64_t *y, int32_t count)
{
    for (int32_t k = 0; k < size; k++) {
        p[k] /= (float)-pt_log_rest(pt_random53(g));
    }
    for (int32_t j = 0; j < count; j++) {
        int32_t best = 0;
        for (int32_t k = 1; k < size; k++) {
            best = p[k] > p[best] ? k : best;
        }
        y[j] = best;
        p[best] = -1.0f;
        pt_poll();
    }
}

/* multinomial: (self, num_samples, replacement, generator). */
mp_obj_t pt_do_multinomial(pt_call_t *c)
{
    pt_tensor_t *t = c->args[0].v.tensor;
    const int64_t wanted = c->args[1].v.i;
    pt_generator_t *g = pt_generator(c, &c->args[3]);
    if (t->ndim < 1 || t->ndim > 2) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("prob_dist must be 1 or 2 dim"));
    }
    if (!pt_is_float(t->dtype)) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("multinomial only supports floating-point dtypes for input, got: %s"),
            pt_dtype_name(t->dtype));
    }
    const int32_t size = t->dims[t->ndim - 1], rows = t->ndim == 2 ? t->dims[0] : 1;
    if (wanted <= 0) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("cannot sample n_sample <= 0 samples"));
    }
    if (wanted > size && !c->args[2].v.i) {
        mp_raise_msg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("cannot sample n_sample > prob_dist.size(-1) samples without replacement"));
    }
    const int32_t count = wanted > INT32_MAX ? INT32_MAX : (int32_t)wanted;
    const int32_t sizes[] = {rows, count};
    pt_tensor_t *all = pt_new_like(t, PT_FLOAT32), *ids = pt_new(PT_INT64, t->ndim, sizes + 2 - t->ndim);
    pt_copy_into(all, t);
    for (int32_t r = 0; r < rows; r++) {
        float *p = (float *)(void *)all->data + (ptrdiff_t)r * size;
        check_weights(p, size);
        int64_t *to = (int64_t *)(void *)ids->data + (ptrdiff_t)r * count;
        (c->args[2].v.i ? with_replacement : without_replacement)(g, p, size, to, count);
    }
    pt_tensor_t *y = pt_result(c, PT_INT64, ids->ndim, ids->dims);
    pt_copy_into(y, ids);
    return MP_OBJ_FROM_PTR(y);
}
