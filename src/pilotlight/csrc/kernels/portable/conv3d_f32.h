#ifndef PL_CONV3D_F32_H
#define PL_CONV3D_F32_H

#include "number_f32.h"
#include "volume.h"

/* One output: the sum over a group's channels under the taps, plus `sum`. x (c, id, ih, iw) is the group's part of the
 * input; w points to the filter's first channel, `next` from there to the following one. */
static inline float pl_conv3d_one_f32(const pl_volume_t *s, const float *x, const float *w, int32_t next,
                                      const pl_taps_t *deep, const pl_taps_t *high, const pl_taps_t *wide, float sum)
{
    for (int32_t i = 0; i < s->c / s->groups; i++, w += next, x += s->id * s->ih * s->iw) {
        for (int32_t a = deep->first, z = deep->at; a < deep->end; a += deep->skip, z += deep->step) {
            for (int32_t b = high->first, v = high->at; b < high->end; b += high->skip, v += high->step) {
                const float *row = x + (z * s->ih + v) * s->iw, *taps = w + (a * s->kh + b) * s->kw;
                for (int32_t e = wide->first, u = wide->at; e < wide->end; e += wide->skip, u += wide->step) {
                    sum = pl_add_f32(sum, pl_mul_f32(row[u], taps[e]));
                }
            }
        }
    }
    return sum;
}

/* One channel of the output, (od, oh, ow). */
static inline void pl_conv3d_plane_f32(const pl_volume_t *s, const float *x, const float *w, int32_t next, float bias,
                                       float *y)
{
    for (int32_t z = 0; z < s->od; z++) {
        const pl_taps_t deep = pl_taps(z, s->id, s->kd, s->sd, s->pd, s->dd);
        for (int32_t v = 0; v < s->oh; v++) {
            const pl_taps_t high = pl_taps(v, s->ih, s->kh, s->sh, s->ph, s->dh);
            for (int32_t u = 0; u < s->ow; u++) {
                const pl_taps_t wide = pl_taps(u, s->iw, s->kw, s->sw, s->pw, s->dw);
                *y++ = pl_conv3d_one_f32(s, x, w, next, &deep, &high, &wide, bias);
            }
        }
    }
}

/* Convolution and, where the strides are negative, transposed convolution. w (oc, c / groups, kd, kh, kw), of
 * transposed convolution (c, oc / groups, kd, kh, kw); bias (oc). */
static inline void pl_conv3d_f32(const pl_volume_t *s, const float *x, const float *w, const float *bias, float *y)
{
    const int32_t in = s->c / s->groups, out = s->oc / s->groups, taps = s->kd * s->kh * s->kw;
    const int32_t transposed = s->sw < 0, next = transposed ? out * taps : taps;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t o = 0; o < s->oc; o++, y += s->od * s->oh * s->ow) {
            const int32_t g = o / out;
            pl_conv3d_plane_f32(s, x + (n * s->c + g * in) * s->id * s->ih * s->iw,
                                w + (transposed ? (g * in * out + o % out) * taps : o * in * taps), next, bias[o], y);
        }
    }
}

#endif
