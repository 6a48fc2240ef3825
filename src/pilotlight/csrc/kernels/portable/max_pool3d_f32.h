#ifndef PL_MAX_POOL3D_F32_H
#define PL_MAX_POOL3D_F32_H

#include "number_f32.h"
#include "volume.h"

/* The largest of each window, NaN where there is one, and the place of the first such in its volume. A window that
 * dilation carries past the input on both sides holds the least number. */
static inline void pl_max_pool3d_f32(const pl_volume_t *s, const float *x, float *y, int64_t *ids)
{
    for (int32_t n = 0; n < s->n * s->c; n++, x += s->id * s->ih * s->iw) {
        for (int32_t z = 0; z < s->od; z++) {
            const pl_stretch_t deep = pl_stretch(z, s->id, s->od, s->kd, s->sd, s->pd, s->dd);
            for (int32_t v = 0; v < s->oh; v++) {
                const pl_stretch_t high = pl_stretch(v, s->ih, s->oh, s->kh, s->sh, s->ph, s->dh);
                for (int32_t u = 0; u < s->ow; u++) {
                    const pl_stretch_t wide = pl_stretch(u, s->iw, s->ow, s->kw, s->sw, s->pw, s->dw);
                    int32_t best = -1;
                    for (int32_t a = deep.first; a < deep.end; a += s->dd) {
                        for (int32_t b = high.first; b < high.end; b += s->dh) {
                            for (int32_t e = wide.first; e < wide.end; e += s->dw) {
                                const int32_t at = (a * s->ih + b) * s->iw + e;
                                best = best < 0 || x[at] > x[best] || pl_is_nan_f32(x[at]) ? at : best;
                            }
                        }
                    }
                    *y++ = best < 0 ? pl_least_f32() : x[best];
                    *ids++ = best < 0 ? 0 : best;
                }
            }
        }
    }
}

#endif
