#ifndef PL_Q_TRANSPOSED_H
#define PL_Q_TRANSPOSED_H

#include "q_clamp.h"
#include "requantize.h"

/* A 2-d transposed convolution of int8, channels last. */
typedef struct {
    int32_t n; // input (n, ih, iw, ic)
    int32_t ih;
    int32_t iw;
    int32_t ic;
    int32_t oh; // output (n, oh, ow, oc), output padding included
    int32_t ow;
    int32_t oc;
    int32_t kh; // kernel
    int32_t kw;
    int32_t sh; // stride
    int32_t sw;
    int32_t top; // padding cut off above and to the left
    int32_t left;
    int32_t dh; // dilation
    int32_t dw;
    int32_t groups; // of channels
    int32_t zx;     // the zero point of x
    pl_requantize_t out;
} pl_q_conv_transpose2d_t;

/* The input row or column that tap k of output o reads, or -1. */
static inline int32_t pl_q_transposed_tap(int32_t o, int32_t k, int32_t stride, int32_t padding, int32_t dilation,
                                          int32_t size)
{
    const int32_t at = o + padding - (k * dilation);
    return ((at < 0) || ((at % stride) != 0) || ((at / stride) >= size)) ? -1 : (at / stride);
}

/* Sums of one output pixel for up to four filters. */
typedef struct {
    int32_t a0;
    int32_t a1;
    int32_t a2;
    int32_t a3;
} pl_q_transposed_t;

/* a += one tap's channels p (n) times t (n, width) for four filters, of which those beyond `width` repeat the last. */
PL_Q_APART void pl_q_transposed_tap4(pl_q_transposed_t *a, const int8_t *p_start, const int8_t *t_start, int32_t n,
                                     int32_t width, int32_t zx)
{
    const int8_t *p = p_start;
    const int8_t *t = t_start;
    const int8_t *t1 = t + ((width > 1) ? 1 : 0);
    const int8_t *t2 = t1 + ((width > 2) ? 1 : 0);
    const int8_t *t3 = t2 + ((width > 3) ? 1 : 0);
    int32_t a0 = a->a0;
    int32_t a1 = a->a1;
    int32_t a2 = a->a2;
    int32_t a3 = a->a3;
    for (int32_t left = n; left > 0; left--) {
        const int32_t v = *p - zx;
        p++;
        a0 += v * *t;
        a1 += v * *t1;
        a2 += v * *t2;
        a3 += v * *t3;
        t = &t[width];
        t1 = &t1[width];
        t2 = &t2[width];
        t3 = &t3[width];
    }
    a->a0 = a0;
    a->a1 = a1;
    a->a2 = a2;
    a->a3 = a3;
}

/* One output pixel, `width` filters: w (kh, kw, ic / groups, width), x the group's first channel. */
static inline void pl_q_transposed_block(const pl_q_conv_transpose2d_t *s, const int8_t *x, const int8_t *w,
                                         pl_q_transposed_t *a, int32_t oy, int32_t ox, int32_t width)
{
    const int32_t icg = s->ic / s->groups;
    for (int32_t r = 0; r < s->kh; r++) {
        const int32_t iy = pl_q_transposed_tap(oy, r, s->sh, s->top, s->dh, s->ih);
        for (int32_t q = 0; (iy >= 0) && (q < s->kw); q++) {
            const int32_t ix = pl_q_transposed_tap(ox, q, s->sw, s->left, s->dw, s->iw);
            if (ix >= 0) {
                const int8_t *p = x + (((iy * s->iw) + ix) * s->ic); // (icg)
                pl_q_transposed_tap4(a, p, w + (((r * s->kw) + q) * icg * width), icg, width, s->zx);
            }
        }
    }
}

#endif
