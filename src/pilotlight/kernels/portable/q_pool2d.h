#ifndef PL_Q_POOL2D_H
#define PL_Q_POOL2D_H

#include "pool2d.h"
#include "q_clamp.h"
#include "requantize.h"

/* A pooling of int8. An average of `count` numbers takes the multiplier m[count - first]. */
typedef struct {
    pl_pool2d_t pool;
    pl_requantize_t out;
    int32_t zx;       // the zero point of x
    int32_t first;    // the count that m[0] is for
    int32_t adaptive; // windows are the cells of an adaptive pooling
} pl_q_pool2d_t;

/* Averages of a window for one pixel's channels, four at a time: y (c) of the image x (ih, iw, c). */
PL_Q_APART void pl_q_avg_window(const pl_requantize_t *q, const int8_t *x, int8_t *y, const pl_span_t *v,
                                const pl_span_t *h, int32_t iw, int32_t c, int32_t zx, int32_t m)
{
    const int32_t begin = -zx * (v->end - v->first) * (h->end - h->first);
    const int32_t fours = c & ~3; // a constant once inlined, so that the compiler sees how often the rest runs
    for (int32_t k = 0; k < fours; k += 4) {
        int32_t a0 = begin;
        int32_t a1 = begin;
        int32_t a2 = begin;
        int32_t a3 = begin;
        for (int32_t r = v->first; r < v->end; r++) {
            const int8_t *p = x + (((r * iw) + h->first) * c) + k;
            for (int32_t n = h->end - h->first; n > 0; n--) {
                a0 += p[0];
                a1 += p[1];
                a2 += p[2];
                a3 += p[3];
                p = &p[c];
            }
        }
        y[k] = pl_requantize_s8(q, a0, m);
        y[k + 1] = pl_requantize_s8(q, a1, m);
        y[k + 2] = pl_requantize_s8(q, a2, m);
        y[k + 3] = pl_requantize_s8(q, a3, m);
    }
    for (int32_t k = fours; k < c; k++) {
        int32_t a = begin;
        for (int32_t r = v->first; r < v->end; r++) {
            for (int32_t t = h->first; t < h->end; t++) {
                a += x[(((r * iw) + t) * c) + k];
            }
        }
        y[k] = pl_requantize_s8(q, a, m);
    }
}

/* Average pooling. A window that reaches beyond the padding, as the last ones may, does not count that part.
 * Walks output pixels forward. */
static inline void pl_q_avg_pool2d(const pl_q_pool2d_t *q, const int8_t *x_start, const int32_t *m, int8_t *y_start)
{
    const int8_t *x = x_start;
    int8_t *y = y_start;
    const pl_pool2d_t *s = &q->pool;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            const int32_t top = (oy * s->sh) - s->top;
            const int32_t bottom = ((top + s->kh) < (s->ih + s->top)) ? (top + s->kh) : (s->ih + s->top);
            const pl_span_t v =
                (q->adaptive != 0) ? pl_adaptive_span(oy, s->ih, s->oh) : pl_pool_span(top, s->kh, 1, s->ih);
            for (int32_t ox = 0; ox < s->ow; ox++) {
                const int32_t left = (ox * s->sw) - s->left;
                const int32_t right = ((left + s->kw) < (s->iw + s->left)) ? (left + s->kw) : (s->iw + s->left);
                const pl_span_t h =
                    (q->adaptive != 0) ? pl_adaptive_span(ox, s->iw, s->ow) : pl_pool_span(left, s->kw, 1, s->iw);
                int32_t count = s->divisor;
                if (count == 0) {
                    count = (s->count_padding != 0) ? ((bottom - top) * (right - left))
                                                    : ((v.end - v.first) * (h.end - h.first));
                }
                pl_q_avg_window(&q->out, x, y, &v, &h, s->iw, s->c, q->zx, m[count - q->first]);
                y = &y[s->c];
            }
        }
        x = &x[s->ih * s->iw * s->c];
    }
}

/* y (4) = the largest of four neighbouring channels over rows by columns pixels, `step` elements from a pixel and
 * `row` from a row to the next. With the DSP extension four bytes are compared at once. */
PL_Q_APART void pl_q_max4(const int8_t *x_start, int8_t *y, int32_t rows_start, int32_t columns, int32_t step,
                          int32_t row)
{
    const int8_t *x = x_start;
    int32_t rows = rows_start;
#if defined(__GNUC__) && defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED)
    typedef struct {
        uint32_t four;
    } __attribute__((__packed__, __may_alias__)) pl_word_t;
    uint32_t top = 0x80808080u;
    uint32_t spare;
    for (; rows > 0; rows--) {
        const int8_t *p = x;
        for (int32_t n = columns; n > 0; n--) {
            const uint32_t v = ((const pl_word_t *)(const void *)p)->four;
            __asm__("ssub8 %1, %2, %0\n\tsel %0, %2, %0" : "+r"(top), "=&r"(spare) : "r"(v) : "cc");
            p = &p[step];
        }
        x = &x[row];
    }
    ((pl_word_t *)(void *)y)->four = top;
#else
    int32_t a0 = -128;
    int32_t a1 = -128;
    int32_t a2 = -128;
    int32_t a3 = -128;
    for (; rows > 0; rows--) {
        const int8_t *p = x;
        for (int32_t n = columns; n > 0; n--) {
            a0 = (p[0] > a0) ? p[0] : a0;
            a1 = (p[1] > a1) ? p[1] : a1;
            a2 = (p[2] > a2) ? p[2] : a2;
            a3 = (p[3] > a3) ? p[3] : a3;
            p = &p[step];
        }
        x = &x[row];
    }
    y[0] = (int8_t)a0;
    y[1] = (int8_t)a1;
    y[2] = (int8_t)a2;
    y[3] = (int8_t)a3;
#endif
}

/* How many taps of a span lie inside the input. */
static inline int32_t pl_q_taps(const pl_span_t *s)
{
    const int32_t length = s->end - s->first;
    return (s->step == 1) ? length : ((length + s->step - 1) / s->step);
}

/* The largest of a window for one pixel's channels: y (c) of the image x (ih, iw, c). */
static inline void pl_q_max_window(const pl_requantize_t *q, const int8_t *x, int8_t *y, const pl_span_t *v,
                                   const pl_span_t *h, int32_t iw, int32_t c)
{
    const int32_t rows = pl_q_taps(v);
    const int32_t columns = pl_q_taps(h);
    const int32_t step = h->step * c;
    const int32_t row = v->step * iw * c;
    const int8_t *first = x + (((v->first * iw) + h->first) * c);
    const int32_t fours = c & ~3; // a constant once inlined, so that the compiler sees how often the rest runs
    for (int32_t k = 0; k < fours; k += 4) {
        pl_q_max4(first + k, y + k, rows, columns, step, row);
    }
    for (int32_t k = fours; k < c; k++) {
        int32_t a = -128;
        for (int32_t r = 0; r < rows; r++) {
            for (int32_t t = 0; t < columns; t++) {
                const int32_t b = first[(r * row) + (t * step) + k];
                a = (b > a) ? b : a;
            }
        }
        y[k] = (int8_t)a;
    }
    for (int32_t k = 0; (k < c) && ((q->lo != -128) || (q->hi != 127)); k++) {
        y[k] = (int8_t)pl_q_clamp(y[k], q->lo, q->hi);
    }
}

/* Max pooling; padding never wins. Walks output pixels forward. */
static inline void pl_q_max_pool2d(const pl_q_pool2d_t *q, const int8_t *x_start, int8_t *y_start)
{
    const int8_t *x = x_start;
    int8_t *y = y_start;
    const pl_pool2d_t *s = &q->pool;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            const pl_span_t v = (q->adaptive != 0) ? pl_adaptive_span(oy, s->ih, s->oh)
                                                   : pl_pool_span((oy * s->sh) - s->top, s->kh, s->dh, s->ih);
            for (int32_t ox = 0; ox < s->ow; ox++) {
                const pl_span_t h = (q->adaptive != 0) ? pl_adaptive_span(ox, s->iw, s->ow)
                                                       : pl_pool_span((ox * s->sw) - s->left, s->kw, s->dw, s->iw);
                pl_q_max_window(&q->out, x, y, &v, &h, s->iw, s->c);
                y = &y[s->c];
            }
        }
        x = &x[s->ih * s->iw * s->c];
    }
}

#endif
