#ifndef PL_MAX_POOL2D_F32_H
#define PL_MAX_POOL2D_F32_H

#include "bits_f32.h"
#include "minmax_f32.h"
#include "pool2d.h"

/* The largest of a window for one pixel's channels, four at a time. x is the image (ih, iw, c), y (c). An empty
 * window gives -infinity. */
static inline void pl_max_window_f32(const float *x, float *y, const pl_span_t *v, const pl_span_t *h, int32_t iw,
                                     int32_t c)
{
    const float least = -pl_inf();
    const int32_t fours = c & ~3; // a constant once inlined, so that the compiler sees how often the rest runs
    for (int32_t k = 0; k < fours; k += 4) {
        float a0 = least;
        float a1 = least;
        float a2 = least;
        float a3 = least;
        for (int32_t r = v->first; r < v->end; r += v->step) {
            const float *p = x + (((r * iw) + h->first) * c) + k;
            for (int32_t q = h->first; q < h->end; q += h->step) {
                a0 = pl_max_f32(p[0], a0);
                a1 = pl_max_f32(p[1], a1);
                a2 = pl_max_f32(p[2], a2);
                a3 = pl_max_f32(p[3], a3);
                p = &p[h->step * c];
            }
        }
        y[k] = a0;
        y[k + 1] = a1;
        y[k + 2] = a2;
        y[k + 3] = a3;
    }
    for (int32_t k = fours; k < c; k++) {
        float a = least;
        for (int32_t r = v->first; r < v->end; r += v->step) {
            for (int32_t q = h->first; q < h->end; q += h->step) {
                a = pl_max_f32(x[(((r * iw) + q) * c) + k], a);
            }
        }
        y[k] = a;
    }
}

/* Max pooling; padding never wins. Walks output pixels forward. */
static inline void pl_max_pool2d_f32(const pl_pool2d_t *s, const float *x_start, float *y_start)
{
    const float *x = x_start;
    float *y = y_start;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            const pl_span_t v = pl_pool_span((oy * s->sh) - s->top, s->kh, s->dh, s->ih);
            for (int32_t ox = 0; ox < s->ow; ox++) {
                const pl_span_t h = pl_pool_span((ox * s->sw) - s->left, s->kw, s->dw, s->iw);
                pl_max_window_f32(x, y, &v, &h, s->iw, s->c);
                y = &y[s->c];
            }
        }
        x = &x[s->ih * s->iw * s->c];
    }
}

/* Adaptive max pooling of (n, ih, iw, c) to (n, oh, ow, c); the other fields do not matter. */
static inline void pl_adaptive_max_pool2d_f32(const pl_pool2d_t *s, const float *x_start, float *y_start)
{
    const float *x = x_start;
    float *y = y_start;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            const pl_span_t v = pl_adaptive_span(oy, s->ih, s->oh);
            for (int32_t ox = 0; ox < s->ow; ox++) {
                const pl_span_t h = pl_adaptive_span(ox, s->iw, s->ow);
                pl_max_window_f32(x, y, &v, &h, s->iw, s->c);
                y = &y[s->c];
            }
        }
        x = &x[s->ih * s->iw * s->c];
    }
}

#endif
