#ifndef PL_Q_POOL2D_S16_H
#define PL_Q_POOL2D_S16_H

#include "pool2d.h"
#include "q_clamp.h"
#include "requantize_s16.h"

/* A pooling of int16. An average of `count` numbers takes the multiplier m[count - first]. */
typedef struct {
    pl_pool2d_t pool;
    pl_requantize_t out;
    int32_t first;    // the count that m[0] is for
    int32_t adaptive; // windows are the cells of an adaptive pooling
} pl_q_pool2d_s16_t;

/* The window of output `o` along an axis. */
static inline pl_span_t pl_q_window_s16(const pl_q_pool2d_s16_t *q, int32_t o, int32_t at, int32_t taps,
                                        int32_t dilation, int32_t size, int32_t out)
{
    return (q->adaptive != 0) ? pl_adaptive_span(o, size, out) : pl_pool_span(at, taps, dilation, size);
}

/* Average pooling. A window that reaches beyond the padding, as the last ones may, does not count that part.
 * Walks output pixels forward. */
static inline void pl_q_avg_pool2d_s16(const pl_q_pool2d_s16_t *q, const int16_t *x_start, const int32_t *m,
                                       int16_t *y_start)
{
    const int16_t *x = x_start;
    int16_t *y = y_start;
    const pl_pool2d_t *s = &q->pool;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            const int32_t top = (oy * s->sh) - s->top;
            const int32_t bottom = ((top + s->kh) < (s->ih + s->top)) ? (top + s->kh) : (s->ih + s->top);
            const pl_span_t v = pl_q_window_s16(q, oy, top, s->kh, 1, s->ih, s->oh);
            for (int32_t ox = 0; ox < s->ow; ox++) {
                const int32_t left = (ox * s->sw) - s->left;
                const int32_t right = ((left + s->kw) < (s->iw + s->left)) ? (left + s->kw) : (s->iw + s->left);
                const pl_span_t h = pl_q_window_s16(q, ox, left, s->kw, 1, s->iw, s->ow);
                int32_t count = s->divisor;
                if (count == 0) {
                    count = (s->count_padding != 0) ? ((bottom - top) * (right - left))
                                                    : ((v.end - v.first) * (h.end - h.first));
                }
                for (int32_t k = 0; k < s->c; k++) {
                    int32_t a = 0;
                    for (int32_t r = v.first; r < v.end; r++) {
                        for (int32_t t = h.first; t < h.end; t++) {
                            a += x[(((r * s->iw) + t) * s->c) + k];
                        }
                    }
                    y[k] = pl_requantize_s16(&q->out, a, m[count - q->first]);
                }
                y = &y[s->c];
            }
        }
        x = &x[s->ih * s->iw * s->c];
    }
}

/* Max pooling; padding never wins. Walks output pixels forward. */
static inline void pl_q_max_pool2d_s16(const pl_q_pool2d_s16_t *q, const int16_t *x_start, int16_t *y_start)
{
    const int16_t *x = x_start;
    int16_t *y = y_start;
    const pl_pool2d_t *s = &q->pool;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            const pl_span_t v = pl_q_window_s16(q, oy, (oy * s->sh) - s->top, s->kh, s->dh, s->ih, s->oh);
            for (int32_t ox = 0; ox < s->ow; ox++) {
                const pl_span_t h = pl_q_window_s16(q, ox, (ox * s->sw) - s->left, s->kw, s->dw, s->iw, s->ow);
                for (int32_t k = 0; k < s->c; k++) {
                    int32_t a = -32768;
                    for (int32_t r = v.first; r < v.end; r += v.step) {
                        for (int32_t t = h.first; t < h.end; t += h.step) {
                            const int32_t b = x[(((r * s->iw) + t) * s->c) + k];
                            a = (b > a) ? b : a;
                        }
                    }
                    y[k] = (int16_t)pl_q_clamp(a, q->out.lo, q->out.hi);
                }
                y = &y[s->c];
            }
        }
        x = &x[s->ih * s->iw * s->c];
    }
}

#endif
