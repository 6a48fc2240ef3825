#ifndef PL_DEPTHWISE3D_F32_H
#define PL_DEPTHWISE3D_F32_H

#include <stdbool.h>

#include "volume.h"

/* y (n) += w times n elements of x, `step` apart. */
static inline void pl_add_row_f32(const float *x, int32_t step, float w, float *y, int32_t n)
{
    if (step == 1) {
        for (int32_t k = 0; k < n; k++) {
            y[k] += w * x[k];
        }
    } else {
        for (int32_t k = 0; k < n; k++) {
            y[k] += w * x[k * step];
        }
    }
}

/* One channel of a convolution that sees one channel of the input: x (id, ih, iw), w (kd, kh, kw), y (od, oh, ow).
 * Row by row: every tap adds a run of inputs to a run of outputs, so that there is nothing to gather. */
static inline void pl_depthwise3d_f32(const pl_volume_t *s, const float *x, const float *w, float bias, float *y_start)
{
    float *y = y_start;
    for (int32_t at = 0; at < (s->od * s->oh); at++) {
        for (int32_t u = 0; u < s->ow; u++) {
            y[u] = bias;
        }
        for (int32_t tap = 0; tap < (s->kd * s->kh); tap++) {
            const int32_t z = (at / s->oh * s->sd) - s->pd + (tap / s->kh * s->dd);
            const int32_t v = (at % s->oh * s->sh) - s->ph + (tap % s->kh * s->dh);
            const bool inside = (z >= 0) && (z < s->id) && (v >= 0) && (v < s->ih);
            const float *row = x + (inside ? (((z * s->ih) + v) * s->iw) : 0);
            const float *weights = w + (tap * s->kw);
            for (int32_t e = 0; inside && (e < s->kw); e++) {
                const int32_t from = (e * s->dw) - s->pw; // the input under output 0
                const int32_t first = (from < 0) ? ((s->sw - 1 - from) / s->sw) : 0;
                int32_t end = (from < s->iw) ? (((s->iw - 1 - from) / s->sw) + 1) : 0;
                end = (end < s->ow) ? end : s->ow;
                if (first < end) {
                    pl_add_row_f32(row + ((first * s->sw) + from), s->sw, weights[e], y + first, end - first);
                }
            }
        }
        y = &y[s->ow];
    }
}

#endif
