/* Fourier transforms of rows of complex numbers, with the compiler's kernels. */
#include "functions.h"
#include "tensor.h"

#include "fft_any_f32.h"

/* Cosine and -sine of `part` / `whole` turns: from an eighth of a turn, where the angle is exact to half a bit. */
static void turn(float *to, int32_t part, int32_t whole)
{
    const int64_t eighths = (int64_t)part % whole * 8;
    const int octant = (int)(eighths / whole);
    const bool odd = octant & 1;
    const int64_t rest = eighths - (int64_t)octant * whole, small = odd ? whole - rest : rest;
    const float angle = 0.785398163f * (float)small / (float)whole;
    const float c = pl_cos_f32(angle), s = pl_sin_f32(angle);
    const bool swap = ((octant + 1) >> 1) & 1;
    const float x = swap ? s : c, y = swap ? c : s;
    to[0] = octant >= 2 && octant < 6 ? -x : x;
    to[1] = octant < 4 ? -y : y;
}

/* The radices: 4, 2, 3, 5, then other primes. Returns how many floats their factors take. */
static int64_t plan(pl_fft_t *t, int32_t n)
{
    int64_t floats = 0;
    int32_t rest = n, span = 1;
    for (int32_t radix = 4; rest > 1;) {
        if (rest % radix != 0) {
            radix = radix == 4 ? 2 : radix == 2 ? 3 : radix + 2;
            radix = radix > 5 && (int64_t)radix * radix > rest ? rest : radix;
            continue;
        }
        rest /= radix;
        t->radix[t->stages] = radix;
        t->step[t->stages++] = rest;
        floats += 2 * (int64_t)(radix - 1) * span + (radix > 5 ? 2 * (int64_t)radix : 0);
        span *= radix;
    }
    return floats;
}

static void fill_factors(const pl_fft_t *t, float *w)
{
    int32_t span = 1;
    for (int s = 0; s < t->stages; s++) {
        const int32_t radix = t->radix[s];
        for (int32_t k = 0; radix > 5 && k < radix; k++, w += 2) {
            turn(w, radix - k, radix);
        }
        for (int32_t k = 0; k < span; k++) {
            for (int32_t j = 1; j < radix; j++, w += 2) {
                turn(w, (int32_t)((int64_t)k * j % ((int64_t)span * radix)), span * radix);
            }
        }
        span *= radix;
        pt_poll();
    }
}

/* _fft_rows(pairs, inverse): (..., n, 2), contiguous; not scaled. */
mp_obj_t pt_do_fft_rows(pt_call_t *c)
{
    pt_tensor_t *x = pt_contiguous(c->args[0].v.tensor, PT_FLOAT32), *y = pt_new_like(x, PT_FLOAT32);
    const int32_t n = x->ndim > 1 ? x->dims[x->ndim - 2] : 0, count = pt_numel(x);
    if (n < 1 || x->dims[x->ndim - 1] != 2) {
        mp_raise_ValueError(MP_ERROR_TEXT("_fft_rows() takes rows of pairs"));
    }
    pl_fft_t t = {.batch = 1, .frames = 1, .x_point = 2, .n = n, .bins = n, .points = n, .scale = 1.0f};
    t.inverse = (int32_t)c->args[1].v.i;
    const int64_t floats = plan(&t, n);
    const int32_t largest = t.stages ? t.radix[t.stages - 1] : 1;
    if (floats > INT32_MAX / 8) {
        m_malloc_fail((size_t)INT32_MAX);
    }
    float *factors = m_new(float, (size_t)floats + 1), *scratch = m_new(float, 2 * (size_t)largest);
    fill_factors(&t, factors);
    for (int32_t at = 0; at < count; at += 2 * n) {
        pl_fft_any_f32(&t, (const float *)(const void *)x->data + at, factors, (float *)(void *)y->data + at, scratch);
        pt_poll();
    }
    m_del(float, factors, (size_t)floats + 1);
    m_del(float, scratch, 2 * (size_t)largest);
    return MP_OBJ_FROM_PTR(y);
}
