/* Bernoulli and exponential sampling. */
#include "random.h"

#include "generated/rows.h"

/* ---- Bernoulli --------------------------------------------------------------------------------------------------- */

/* 1 with probability p, else 0. */
static void draw_one(const pt_draw_t *d, pt_chunk_t *to, int n)
{
    for (int k = 0; k < n; k++) {
        to->f[k] = pt_unit((int64_t)pt_random53(d->g)) < d->p ? 1.0f : 0.0f;
    }
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
    pt_tensor_t *noise = pt_new_as(x, x->dtype);
    if (p == 1) {
        pt_fill(noise, MP_OBJ_NEW_SMALL_INT(0));
    } else {
        const pt_draw_t d = {.g = pt_generator(c, NULL), .p = 1 - p};
        pt_draw(noise, draw_one, &d, PT_FLOAT32);
        pt_tensor_t *const scaled[] = {noise, pt_from_number(mp_obj_new_float(1 - p), PT_FLOAT32)};
        pt_apply(&pt_row_div, 2, scaled, noise);
    }
    pt_tensor_t *const operands[] = {x, noise};
    return MP_OBJ_FROM_PTR(pt_apply(&pt_row_mul, 2, operands, c->in_place ? x : NULL));
}

/* ---- exponential ------------------------------------------------------------------------------------------------- */

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
        mp_raise_msg(&mp_type_NotImplementedError, MP_ERROR_TEXT("exponential_: dtype must be a floating point"));
    }
    pt_draw(pt_changed(c), draw_exponential, &d, PT_FLOAT32);
    return c->args[0].object;
}
