#ifndef PL_AVG_POOL2D_F32_H
#define PL_AVG_POOL2D_F32_H

#include "integer.h"
#include "pool2d.h"

/* The sum of a window for one pixel's channels, four at a time, divided by `count`; each row of the window has a sum
 * of its own. x is the image (ih, iw, c), y (c). */
static inline void pl_avg_window_f32(const float *x, float *y, const pl_span_t *v, const pl_span_t *h, int32_t iw,
                                     int32_t c, float count)
{
    const int32_t fours = c & ~3; // a constant once inlined, so that the compiler sees how often the rest runs
    for (int32_t k = 0; k < fours; k += 4) {
        float a0 = 0.0f;
        float a1 = 0.0f;
        float a2 = 0.0f;
        float a3 = 0.0f;
        for (int32_t r = v->first; r < v->end; r++) {
            const float *p = x + (((r * iw) + h->first) * c) + k;
            float b0 = 0.0f;
            float b1 = 0.0f;
            float b2 = 0.0f;
            float b3 = 0.0f;
            for (int32_t q = h->first; q < h->end; q++) {
                b0 += p[0];
                b1 += p[1];
                b2 += p[2];
                b3 += p[3];
                p = &p[c];
            }
            a0 += b0;
            a1 += b1;
            a2 += b2;
            a3 += b3;
        }
        y[k] = a0 / count;
        y[k + 1] = a1 / count;
        y[k + 2] = a2 / count;
        y[k + 3] = a3 / count;
    }
    for (int32_t k = fours; k < c; k++) {
        float a = 0.0f;
        for (int32_t r = v->first; r < v->end; r++) {
            float b = 0.0f;
            for (int32_t q = h->first; q < h->end; q++) {
                b += x[(((r * iw) + q) * c) + k];
            }
            a += b;
        }
        y[k] = a / count;
    }
}

/* Average pooling. A window that reaches beyond the padding, as the last ones may, does not count that part.
 * Walks output pixels forward. */
static inline void pl_avg_pool2d_f32(const pl_pool2d_t *s, const float *x_start, float *y_start)
{
    const float *x = x_start;
    float *y = y_start;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            const int32_t top = (oy * s->sh) - s->top;
            const int32_t bottom = ((top + s->kh) < (s->ih + s->top)) ? (top + s->kh) : (s->ih + s->top);
            const pl_span_t v = pl_pool_span(top, s->kh, 1, s->ih);
            for (int32_t ox = 0; ox < s->ow; ox++) {
                const int32_t left = (ox * s->sw) - s->left;
                const int32_t right = ((left + s->kw) < (s->iw + s->left)) ? (left + s->kw) : (s->iw + s->left);
                const pl_span_t h = pl_pool_span(left, s->kw, 1, s->iw);
                int32_t count = s->divisor;
                if (count == 0) {
                    count = (s->count_padding != 0) ? ((bottom - top) * (right - left))
                                                    : ((v.end - v.first) * (h.end - h.first));
                }
                pl_avg_window_f32(x, y, &v, &h, s->iw, s->c, (float)count);
                y = &y[s->c];
            }
        }
        x = &x[s->ih * s->iw * s->c];
    }
}

/* Adaptive average pooling of (n, ih, iw, c) to (n, oh, ow, c); the other fields do not matter. */
static inline void pl_adaptive_avg_pool2d_f32(const pl_pool2d_t *s, const float *x_start, float *y_start)
{
    const float *x = x_start;
    float *y = y_start;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            const pl_span_t v = pl_adaptive_span(oy, s->ih, s->oh);
            for (int32_t ox = 0; ox < s->ow; ox++) {
                const pl_span_t h = pl_adaptive_span(ox, s->iw, s->ow);
                pl_avg_window_f32(x, y, &v, &h, s->iw, s->c, pl_float((v.end - v.first) * (h.end - h.first)));
                y = &y[s->c];
            }
        }
        x = &x[s->ih * s->iw * s->c];
    }
}

#endif
