#ifndef PL_MAX_POOL2D_INDEX_F32_H
#define PL_MAX_POOL2D_INDEX_F32_H

#include "bits_f32.h"
#include "pool2d.h"

/* Max pooling that also tells where each maximum was: at (n, oh, ow, c), rows times iw plus column, the first
 * of equals, the last NaN. Walks output pixels forward. */
static inline void pl_max_pool2d_index_f32(const pl_pool2d_t *s, const float *x_start, float *y_start,
                                           int64_t *at_start)
{
    const float *x = x_start;
    float *y = y_start;
    int64_t *at = at_start;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            const pl_span_t v = pl_pool_span((oy * s->sh) - s->top, s->kh, s->dh, s->ih);
            for (int32_t ox = 0; ox < s->ow; ox++) {
                const pl_span_t h = pl_pool_span((ox * s->sw) - s->left, s->kw, s->dw, s->iw);
                for (int32_t k = 0; k < s->c; k++) {
                    float best = -pl_inf();
                    int32_t where = (v.first * s->iw) + h.first;
                    for (int32_t r = v.first; r < v.end; r += v.step) {
                        for (int32_t q = h.first; q < h.end; q += h.step) {
                            const float value = x[(((r * s->iw) + q) * s->c) + k];
                            if ((value > best) || (value != value)) {
                                best = value;
                                where = (r * s->iw) + q;
                            }
                        }
                    }
                    *y = best;
                    y++;
                    *at = where;
                    at++;
                }
            }
        }
        x = &x[s->ih * s->iw * s->c];
    }
}

#endif
