#ifndef PL_RESIZE_BILINEAR_F32_H
#define PL_RESIZE_BILINEAR_F32_H

#include "resize2d.h"

/* Two neighbouring input pixels and the weight of the second. */
typedef struct {
    int32_t a;
    int32_t b;
    float t;
} pl_lerp_t;

static inline pl_lerp_t pl_lerp_at(int32_t o, float scale, int32_t align_corners, int32_t size)
{
    float at = (align_corners != 0) ? ((float)o * scale) : ((((float)o + 0.5f) * scale) - 0.5f);
    pl_lerp_t p;
    at = (at < 0.0f) ? 0.0f : at;
    p.a = (int32_t)at;
    p.a = (p.a < size) ? p.a : (size - 1);
    p.b = ((p.a + 1) < size) ? (p.a + 1) : p.a;
    p.t = at - (float)p.a;
    p.t = (p.t < 1.0f) ? p.t : 1.0f;
    return p;
}

/* Linear in both directions. Walks output pixels forward. */
static inline void pl_resize_bilinear_f32(const pl_resize2d_t *s, const float *x_start, float *y_start)
{
    const float *x = x_start;
    float *y = y_start;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            const pl_lerp_t v = pl_lerp_at(oy, s->sh, s->align_corners, s->ih);
            for (int32_t ox = 0; ox < s->ow; ox++) {
                const pl_lerp_t h = pl_lerp_at(ox, s->sw, s->align_corners, s->iw);
                const float *p = x + (((v.a * s->iw) + h.a) * s->c);
                const float *q = x + (((v.b * s->iw) + h.a) * s->c);
                const int32_t right = (h.b - h.a) * s->c;
                for (int32_t k = 0; k < s->c; k++) {
                    const float above = ((1.0f - h.t) * p[k]) + (h.t * p[k + right]);
                    const float below = ((1.0f - h.t) * q[k]) + (h.t * q[k + right]);
                    *y = ((1.0f - v.t) * above) + (v.t * below);
                    y++;
                }
            }
        }
        x = &x[s->ih * s->iw * s->c];
    }
}

#endif
