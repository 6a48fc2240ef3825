#ifndef PL_AVG_POOL3D_F32_H
#define PL_AVG_POOL3D_F32_H

#include "number_f32.h"
#include "volume.h"

/* The average of each window; integers are divided toward zero. A window that reaches beyond the padding, as the last
 * ones may, does not count that part. */
static inline void pl_avg_pool3d_f32(const pl_volume_t *s, const float *x, float *y)
{
    for (int32_t n = 0; n < s->n * s->c; n++, x += s->id * s->ih * s->iw) {
        for (int32_t z = 0; z < s->od; z++) {
            const pl_stretch_t deep = pl_stretch(z, s->id, s->od, s->kd, s->sd, s->pd, 1);
            for (int32_t v = 0; v < s->oh; v++) {
                const pl_stretch_t high = pl_stretch(v, s->ih, s->oh, s->kh, s->sh, s->ph, 1);
                for (int32_t u = 0; u < s->ow; u++) {
                    const pl_stretch_t wide = pl_stretch(u, s->iw, s->ow, s->kw, s->sw, s->pw, 1);
                    const int32_t inside = (deep.end - deep.first) * (high.end - high.first) * (wide.end - wide.first);
                    const int32_t count = s->count_padding ? deep.whole * high.whole * wide.whole : inside;
                    float sum = 0.0f;
                    for (int32_t a = deep.first; a < deep.end; a++) {
                        for (int32_t b = high.first; b < high.end; b++) {
                            float row = 0.0f;
                            for (int32_t e = wide.first; e < wide.end; e++) {
                                row = pl_add_f32(row, x[(a * s->ih + b) * s->iw + e]);
                            }
                            sum = pl_add_f32(sum, row);
                        }
                    }
                    *y++ = sum / (float)(s->divisor ? s->divisor : count);
                }
            }
        }
    }
}

#endif
