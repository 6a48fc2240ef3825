/* Random tensors: PyTorch's own sequences, number by number. */
#include "random.h"

#include "functions.h"

#include "sqrt_f32.h"

void pt_draw(pt_tensor_t *y, pt_source_t source, const pt_draw_t *d, int compute)
{
    int32_t order[PT_MAX_DIMS];
    pt_chunk_t chunk;
    pt_walk_t w;
    for (int k = 0; k < y->ndim; k++) { /* dimensions by their strides, the largest first */
        int to = k;
        for (; to > 0 && pt_strides(y)[order[to - 1]] < pt_strides(y)[k]; to--) {
            order[to] = order[to - 1];
        }
        order[to] = k;
    }
    pt_tensor_t *const operands[] = {pt_permute(y, order)};
    pt_walk(&w, 1, operands);
    while (pt_next(&w)) {
        const int32_t step = w.steps[0][w.ndim - 1];
        for (int32_t at = 0; at < w.run; at += PT_CHUNK) {
            const int n = w.run - at < PT_CHUNK ? (int)(w.run - at) : PT_CHUNK;
            source(d, &chunk, n);
            pt_store(w.data[0] + (ptrdiff_t)at * step * w.width[0], y->dtype, step, compute, &chunk, n);
            pt_poll();
        }
    }
}

static NORETURN void wrong_type(pt_call_t *c, int dtype)
{
    mp_raise_msg_varg(&mp_type_NotImplementedError, MP_ERROR_TEXT("\"%q\" not implemented for '%s'"), c->op->name,
        pt_dtype_name(dtype));
}

/* ---- uniform ----------------------------------------------------------------------------------------------------- */

static float uniform24(pt_generator_t *g) { return (float)(pt_random32(g) & 0xffffffu) * 5.9604644775390625e-08f; }

static void draw_uniform(const pt_draw_t *d, pt_chunk_t *to, int n)
{
    for (int k = 0; k < n; k++) {
        const float v = uniform24(d->g) * (d->to - d->from) + d->from;
        float r;
        pt_store((uint8_t *)&r, d->dtype, 1, PT_FLOAT32, &v, 1);
        pt_load((const uint8_t *)&r, d->dtype, 1, PT_FLOAT32, &r, 1);
        to->f[k] = r == d->to ? d->from : v; /* the upper end is excluded, even if rounding gives it */
    }
}

static mp_obj_t uniform(pt_call_t *c, pt_tensor_t *y, pt_generator_t *g, float from, float to)
{
    const pt_draw_t d = {.g = g, .from = from, .to = to, .dtype = y->dtype};
    if (!pt_is_float(y->dtype)) {
        wrong_type(c, y->dtype);
    }
    pt_draw(y, draw_uniform, &d, PT_FLOAT32);
    return MP_OBJ_FROM_PTR(y);
}

/* A new tensor for rand and the like; overload->data 1: a generator follows the sizes. */
static pt_tensor_t *made(pt_call_t *c, pt_generator_t **g)
{
    const pt_arg_t *size = &c->args[0], *arg = &c->args[1];
    *g = pt_generator(c, c->overload->data.number ? arg++ : NULL);
    return pt_result(c, arg->given ? arg->v.dtype : c->out ? c->out->dtype : PT_FLOAT32, size->count, size->v.ints);
}

mp_obj_t pt_do_rand(pt_call_t *c)
{
    pt_generator_t *g;
    pt_tensor_t *y = made(c, &g);
    return uniform(c, y, g, 0.0f, 1.0f);
}

mp_obj_t pt_do_uniform(pt_call_t *c)
{
    const mp_float_t from = c->args[1].v.f, to = c->args[2].v.f;
    if (from > to) {
        mp_raise_msg(
            &mp_type_RuntimeError, MP_ERROR_TEXT("uniform_ expects to return a [from, to) range, but found from > to"));
    }
    return uniform(c, pt_changed(c), pt_generator(c, &c->args[3]), (float)from, (float)to);
}

/* ---- normal ------------------------------------------------------------------------------------------------------ */

/* The cosine of an angle up to pi / 4 (odd 0) or its sine (1), as precise as the port's floats allow. */
static mp_float_t turn(mp_float_t x, int odd)
{
    mp_float_t sum = 1;
    for (int n = 18 + odd; n > 1; n -= 2) {
        sum = 1 - x * x / (mp_float_t)(n * (n - 1)) * sum;
    }
    return odd ? x * sum : sum;
}

/* One at a time, two for every four draws, from 53 bits: the angle is cut to an eighth of the circle as an integer. */
static void draw_normal(const pt_draw_t *d, pt_chunk_t *to, int n)
{
    pt_generator_t *g = d->g;
    for (int k = 0; k < n; k++) {
        mp_float_t v = g->next;
        if (!g->has_next) {
            const uint64_t angle = pt_random53(g), quarter = 1ull << 51, part = angle & (quarter - 1u);
            const mp_float_t square = -2 * pt_log_rest(pt_random53(g));
            mp_float_t radius = (mp_float_t)pl_sqrt_f32((float)square);
            for (int step = 0; step < 2 && radius > 0; step++) {
                radius = (radius + square / radius) / 2;
            }
            const bool far = part > quarter / 2;
            const mp_float_t x = pt_unit((int64_t)(far ? quarter - part : part)) * (mp_float_t)6.283185307179586;
            const mp_float_t cosine = radius * turn(x, far), sine = radius * turn(x, !far);
            const int quadrant = (int)(angle >> 51);
            v = quadrant & 1 ? -sine : cosine;
            g->next = quadrant & 1 ? cosine : sine;
            if (quadrant & 2) {
                v = -v;
                g->next = -g->next;
            }
        }
        g->has_next = !g->has_next;
        to->f[k] = (float)(v * (mp_float_t)d->to + (mp_float_t)d->from);
    }
}

/* Sixteen at a time. */
static void normal16(const pt_draw_t *d, uint8_t *data)
{
    pt_chunk_t u;
    for (int k = 0; k < 16; k++) {
        u.f[k] = uniform24(d->g);
    }
    for (int k = 0; k < 8; k++) {
        const float radius = pl_sqrt_f32(-2.0f * pl_log_f32(1.0f - u.f[k])), angle = 6.28318530717958648f * u.f[k + 8];
        u.f[k] = radius * pl_cos_f32(angle) * d->to + d->from;
        u.f[k + 8] = radius * pl_sin_f32(angle) * d->to + d->from;
    }
    pt_store(data, d->dtype, 1, PT_FLOAT32, &u, 16);
}

static mp_obj_t normal(pt_call_t *c, pt_tensor_t *y, pt_generator_t *g, float mean, float deviation)
{
    const pt_draw_t d = {.g = g, .from = mean, .to = deviation, .dtype = y->dtype};
    const int32_t n = pt_numel(y), width = pt_size(y->dtype);
    if (!pt_is_float(y->dtype)) {
        wrong_type(c, y->dtype);
    }
    if (!(deviation >= 0.0f)) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("normal expects std >= 0.0"));
    }
    if (n < 16 || !pt_is_contiguous(y)) {
        pt_draw(y, draw_normal, &d, PT_FLOAT32);
        return MP_OBJ_FROM_PTR(y);
    }
    for (int32_t k = 0; k + 16 <= n; k += 16) {
        normal16(&d, y->data + (ptrdiff_t)k * width);
        pt_poll();
    }
    if (n % 16) { /* the last sixteen once more, of float32 after the draws for what is left over */
        for (int32_t k = 0; k < n % 16 && y->dtype == PT_FLOAT32; k++) {
            pt_random32(g);
        }
        normal16(&d, y->data + (ptrdiff_t)(n - 16) * width);
    }
    return MP_OBJ_FROM_PTR(y);
}

mp_obj_t pt_do_randn(pt_call_t *c)
{
    pt_generator_t *g;
    pt_tensor_t *y = made(c, &g);
    return normal(c, y, g, 0.0f, 1.0f);
}

/* normal_: (self, mean, std, generator). */
mp_obj_t pt_do_normal_in_place(pt_call_t *c)
{
    return normal(c, pt_changed(c), pt_generator(c, &c->args[3]), (float)c->args[1].v.f, (float)c->args[2].v.f);
}

/* ---- integers ---------------------------------------------------------------------------------------------------- */

/* From `range` numbers on; a range of 2**28 and more takes two draws, as in PyTorch. */
static void draw_integers(const pt_draw_t *d, pt_chunk_t *to, int n)
{
    for (int k = 0; k < n; k++) {
        const uint64_t v = d->range >= 1u << 28 || d->range == 0 ? pt_random64(d->g) : pt_random32(d->g);
        to->i[k] = (int64_t)((d->range ? v % d->range : v) + d->base);
    }
}

/* Up to the largest of a type, all of which one draw gives, or two for int64. */
static void draw_any(const pt_draw_t *d, pt_chunk_t *to, int n)
{
    for (int k = 0; k < n; k++) {
        const uint64_t v = d->dtype == PT_INT64 ? pt_random64(d->g) : pt_random32(d->g);
        to->i[k] = (int64_t)(v % d->range);
    }
}

/* The bits of the largest integer up to which a type has all of them. */
static int bits_of(int dtype)
{
    static const uint8_t bits[PT_DTYPES] = {1, 8, 7, 15, 31, 63, 11, 8, 24};
    return bits[dtype];
}

static mp_obj_t integers(pt_call_t *c, pt_tensor_t *y, pt_generator_t *g, int64_t from, int64_t to)
{
    const int64_t most = (int64_t)((1ull << bits_of(y->dtype)) - !pt_is_float(y->dtype));
    const int64_t least = pt_is_float(y->dtype) ? -most : y->dtype <= PT_UINT8 ? 0 : -most - 1;
    const pt_draw_t d = {.g = g, .base = (uint64_t)from, .range = (uint64_t)to - (uint64_t)from};
    if (from >= to) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("random_ expects 'from' to be less than 'to', but got from=%d >= to=%d"), (int)from, (int)to);
    }
    if (from < least || from > most || to - 1 > most) {
        mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("%s is out of bounds for %s"),
            from < least || from > most ? "from" : "to - 1", pt_dtype_name(y->dtype));
    }
    pt_draw(y, draw_integers, &d, PT_INT64);
    return MP_OBJ_FROM_PTR(y);
}

/* random_: overload->data 0: (self), 1: (self, to), 2: (self, from, to); a generator comes last. */
mp_obj_t pt_do_random(pt_call_t *c)
{
    const int data = (int)c->overload->data.number;
    pt_tensor_t *y = pt_changed(c);
    pt_generator_t *g = pt_generator(c, &c->args[data + 1]);
    const uint64_t all = (1ull << bits_of(y->dtype)) + pt_is_float(y->dtype);
    if (data == 0) {
        const pt_draw_t d = {.g = g, .dtype = y->dtype, .range = all};
        pt_draw(y, draw_any, &d, PT_INT64);
        return c->args[0].object;
    }
    if (data == 2 && !c->args[2].given) { /* up to the largest of the type */
        const pt_draw_t d = {.g = g, .base = (uint64_t)c->args[1].v.i, .range = all - (uint64_t)c->args[1].v.i};
        pt_draw(y, draw_integers, &d, PT_INT64);
        return c->args[0].object;
    }
    return integers(c, y, g, data == 2 ? c->args[1].v.i : 0, c->args[data].v.i);
}

/* randperm: (n, dtype), with overload->data 1 (n, generator, dtype): every element changes places with a later one. */
mp_obj_t pt_do_randperm(pt_call_t *c)
{
    const int data = (int)c->overload->data.number;
    const pt_arg_t *dtype = &c->args[1 + data];
    const int32_t n = c->args[0].v.i > INT32_MAX ? INT32_MAX : c->args[0].v.i < 0 ? -1 : (int32_t)c->args[0].v.i;
    pt_generator_t *g = pt_generator(c, data ? &c->args[1] : NULL);
    pt_tensor_t *order = pt_new(PT_INT32, 1, &n);
    int32_t *at = (int32_t *)(void *)order->data;
    for (int32_t k = 0; k < n; k++) {
        at[k] = k;
    }
    for (int32_t k = 0; k + 1 < n; k++) {
        const int32_t other = k + (int32_t)(pt_random32(g) % (uint32_t)(n - k)), swap = at[k];
        at[k] = at[other];
        at[other] = swap;
        if (!(k & 1023)) {
            pt_poll();
        }
    }
    pt_tensor_t *y = pt_result(c, dtype->given ? dtype->v.dtype : c->out ? c->out->dtype : PT_INT64, 1, &n);
    pt_copy_into(y, order);
    return MP_OBJ_FROM_PTR(y);
}
