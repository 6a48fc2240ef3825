#ifndef PL_CONV3D_F32_H
#define PL_CONV3D_F32_H

#include "number_f32.h"
#include "volume.h"

/* One output: the sum over a group's channels under the taps, plus `sum`. x (c, id, ih, iw) is the group's part of the
 * input; w points to the filter's first channel, `next` from there to the following one. */
static inline float pl_conv3d_one_f32(const pl_volume_t *s, const float *x, const float *w, int32_t next, int32_t z,
                                      int32_t v, int32_t u, float sum)
{
    for (int32_t i = 0; i < s->c / s->groups; i++, w += next) {
        for (int32_t a = 0; a < s->kd; a++) {
            const int32_t d = pl_tap(z, a, s->id, s->sd, s->pd, s->dd);
            for (int32_t b = 0; b < s->kh && d >= 0; b++) {
                const int32_t h = pl_tap(v, b, s->ih, s->sh, s->ph, s->dh);
                for (int32_t e = 0; e < s->kw && h >= 0; e++) {
                    const int32_t at = pl_tap(u, e, s->iw, s->sw, s->pw, s->dw);
                    if (at >= 0) {
                        const float tap = x[((i * s->id + d) * s->ih + h) * s->iw + at];
                        sum = pl_add_f32(sum, pl_mul_f32(tap, w[(a * s->kh + b) * s->kw + e]));
                    }
                }
            }
        }
    }
    return sum;
}

/* Convolution and, where the strides are negative, transposed convolution. w (oc, c / groups, kd, kh, kw), of
 * transposed convolution (c, oc / groups, kd, kh, kw); bias (oc). */
static inline void pl_conv3d_f32(const pl_volume_t *s, const float *x, const float *w, const float *bias, float *y)
{
    const int32_t in = s->c / s->groups, out = s->oc / s->groups, taps = s->kd * s->kh * s->kw;
    const int32_t transposed = s->sw < 0, next = transposed ? out * taps : taps;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t o = 0; o < s->oc; o++) {
            const int32_t g = o / out;
            const float *image = x + (n * s->c + g * in) * s->id * s->ih * s->iw;
            const float *filter = w + (transposed ? (g * in * out + o % out) * taps : o * in * taps);
            for (int32_t z = 0; z < s->od; z++) {
                for (int32_t v = 0; v < s->oh; v++) {
                    for (int32_t u = 0; u < s->ow; u++) {
                        *y++ = pl_conv3d_one_f32(s, image, filter, next, z, v, u, bias[o]);
                    }
                }
            }
        }
    }
}

#endif
