#ifndef PL_Q_POOL2D_H
#define PL_Q_POOL2D_H

#include "pool2d.h"
#include "q_clamp.h"

/* A pooling of int8. An average of `count` numbers takes the multiplier m[count - first]. */
typedef struct {
    pl_pool2d_t pool;
    pl_q_out_t out;
    int32_t zx;       // the zero point of x
    int32_t first;    // the count that m[0] is for
    int32_t adaptive; // windows are the cells of an adaptive pooling
} pl_q_pool2d_t;

/* Averages of a window for one pixel's channels, four at a time: y (c) of the image x (ih, iw, c). */
static inline void pl_q_avg_window(const pl_q_out_t *q, const int8_t *x, int8_t *y, const pl_span_t *v,
                                   const pl_span_t *h, int32_t iw, int32_t c, int32_t zx, int32_t m)
{
    const int32_t begin = -zx * (v->end - v->first) * (h->end - h->first);
    int32_t k = 0;
    for (; k + 4 <= c; k += 4) {
        int32_t a0 = begin, a1 = begin, a2 = begin, a3 = begin;
        for (int32_t r = v->first; r < v->end; r++) {
            const int8_t *p = x + (r * iw + h->first) * c + k;
            for (int32_t n = h->end - h->first; n > 0; n--, p += c) {
                a0 += p[0];
                a1 += p[1];
                a2 += p[2];
                a3 += p[3];
            }
        }
        y[k] = pl_q_out(q, a0, m);
        y[k + 1] = pl_q_out(q, a1, m);
        y[k + 2] = pl_q_out(q, a2, m);
        y[k + 3] = pl_q_out(q, a3, m);
    }
    for (; k < c; k++) {
        int32_t a = begin;
        for (int32_t r = v->first; r < v->end; r++) {
            for (int32_t t = h->first; t < h->end; t++) {
                a += x[(r * iw + t) * c + k];
            }
        }
        y[k] = pl_q_out(q, a, m);
    }
}

/* Average pooling. A window that reaches beyond the padding, as the last ones may, does not count that part.
 * Walks output pixels forward. */
static inline void pl_q_avg_pool2d(const pl_q_pool2d_t *q, const int8_t *x, const int32_t *m, int8_t *y)
{
    const pl_pool2d_t *s = &q->pool;
    for (int32_t n = 0; n < s->n; n++, x += s->ih * s->iw * s->c) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            const int32_t top = oy * s->sh - s->pt;
            const int32_t bottom = top + s->kh < s->ih + s->pt ? top + s->kh : s->ih + s->pt;
            const pl_span_t v = q->adaptive ? pl_adaptive_span(oy, s->ih, s->oh) : pl_pool_span(top, s->kh, 1, s->ih);
            for (int32_t ox = 0; ox < s->ow; ox++, y += s->c) {
                const int32_t left = ox * s->sw - s->pl;
                const int32_t right = left + s->kw < s->iw + s->pl ? left + s->kw : s->iw + s->pl;
                const pl_span_t h = q->adaptive ? pl_adaptive_span(ox, s->iw, s->ow) : pl_pool_span(left, s->kw, 1, s->iw);
                int32_t count = s->divisor;
                if (count == 0) {
                    count = s->count_padding ? (bottom - top) * (right - left) : (v.end - v.first) * (h.end - h.first);
                }
                pl_q_avg_window(&q->out, x, y, &v, &h, s->iw, s->c, q->zx, m[count - q->first]);
            }
        }
    }
}

/* The largest of a window for one pixel's channels, four at a time: y (c) of the image x (ih, iw, c). */
static inline void pl_q_max_window(const pl_q_out_t *q, const int8_t *x, int8_t *y, const pl_span_t *v,
                                   const pl_span_t *h, int32_t iw, int32_t c)
{
    int32_t k = 0;
    for (; k + 4 <= c; k += 4) {
        int32_t a0 = q->lo, a1 = q->lo, a2 = q->lo, a3 = q->lo;
        for (int32_t r = v->first; r < v->end; r += v->step) {
            const int8_t *p = x + (r * iw + h->first) * c + k;
            for (int32_t t = h->first; t < h->end; t += h->step, p += h->step * c) {
                a0 = p[0] > a0 ? p[0] : a0;
                a1 = p[1] > a1 ? p[1] : a1;
                a2 = p[2] > a2 ? p[2] : a2;
                a3 = p[3] > a3 ? p[3] : a3;
            }
        }
        y[k] = (int8_t)(a0 < q->hi ? a0 : q->hi);
        y[k + 1] = (int8_t)(a1 < q->hi ? a1 : q->hi);
        y[k + 2] = (int8_t)(a2 < q->hi ? a2 : q->hi);
        y[k + 3] = (int8_t)(a3 < q->hi ? a3 : q->hi);
    }
    for (; k < c; k++) {
        int32_t a = q->lo;
        for (int32_t r = v->first; r < v->end; r += v->step) {
            for (int32_t t = h->first; t < h->end; t += h->step) {
                const int32_t b = x[(r * iw + t) * c + k];
                a = b > a ? b : a;
            }
        }
        y[k] = (int8_t)(a < q->hi ? a : q->hi);
    }
}

/* Max pooling; padding never wins. Walks output pixels forward. */
static inline void pl_q_max_pool2d(const pl_q_pool2d_t *q, const int8_t *x, int8_t *y)
{
    const pl_pool2d_t *s = &q->pool;
    for (int32_t n = 0; n < s->n; n++, x += s->ih * s->iw * s->c) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            const pl_span_t v = q->adaptive ? pl_adaptive_span(oy, s->ih, s->oh)
                                            : pl_pool_span(oy * s->sh - s->pt, s->kh, s->dh, s->ih);
            for (int32_t ox = 0; ox < s->ow; ox++, y += s->c) {
                const pl_span_t h = q->adaptive ? pl_adaptive_span(ox, s->iw, s->ow)
                                                : pl_pool_span(ox * s->sw - s->pl, s->kw, s->dw, s->iw);
                pl_q_max_window(&q->out, x, y, &v, &h, s->iw, s->c);
            }
        }
    }
}

#endif
