#ifndef PL_DEPTHWISE_S8_H
#define PL_DEPTHWISE_S8_H

#include "channels_s8.h"

/* One channel along a row, 3x3 and stride 1: each column is loaded once, and goes into three sums. */
static inline void pl_depthwise3_s8(const pl_conv_s8_t *s, int32_t pixels, int32_t row, const int8_t *x_start,
                                    const int8_t *w, int32_t bias, int32_t m, int8_t *y_start)
{
    const int8_t *x = x_start;
    int8_t *y = y_start;
    const pl_requantize_t q = {s->q.zy, s->q.shift, s->q.lo, s->q.hi}; // a store to y might change what s points to
    const int32_t ic = s->ic;
    const int8_t *x1 = x + row;
    const int8_t *x2 = x1 + row;
    const int32_t w00 = w[0];
    const int32_t w01 = w[ic];
    const int32_t w02 = w[2 * ic];
    const int32_t w10 = w[3 * ic];
    const int32_t w11 = w[4 * ic];
    const int32_t w12 = w[5 * ic];
    const int32_t w20 = w[6 * ic];
    const int32_t w21 = w[7 * ic];
    const int32_t w22 = w[8 * ic];
    int32_t a = x[0]; // the column
    int32_t b = x1[0];
    int32_t c = x2[0];
    int32_t first = bias + (a * w00) + (b * w10) + (c * w20);
    x = &x[ic];
    x1 = &x1[ic];
    x2 = &x2[ic];
    a = *x;
    b = *x1;
    c = *x2;
    int32_t second = first + (a * w01) + (b * w11) + (c * w21); // two of three columns
    first = bias + (a * w00) + (b * w10) + (c * w20);           // one of three
    for (int32_t left = pixels; left > 0; left--) {
        x = &x[ic];
        x1 = &x1[ic];
        x2 = &x2[ic];
        a = *x;
        b = *x1;
        c = *x2;
        *y = pl_requantize_s8(&q, second + (a * w02) + (b * w12) + (c * w22), m);
        y = &y[ic];
        second = first + (a * w01) + (b * w11) + (c * w21);
        first = bias + (a * w00) + (b * w10) + (c * w20);
    }
}

/* One channel along a row, any kernel. */
static inline void pl_depthwise_any_s8(const pl_conv_s8_t *s, int32_t pixels, int32_t row, const int8_t *x_start,
                                       const int8_t *w, int32_t bias, int32_t m, int8_t *y_start)
{
    const int8_t *x = x_start;
    int8_t *y = y_start;
    const pl_requantize_t q = {s->q.zy, s->q.shift, s->q.lo, s->q.hi};
    const int32_t ic = s->ic;
    const int32_t step = s->dw * ic;
    const int32_t kh = s->kh;
    const int32_t kw = s->kw;
    const int32_t next = s->sw * ic;
    for (int32_t left = pixels; left > 0; left--) {
        const int8_t *from = x;
        const int8_t *v = w;
        int32_t acc = bias;
        for (int32_t r = kh; r > 0; r--) {
            const int8_t *at = from;
            for (int32_t c = kw; c > 0; c--) {
                acc += *at * *v;
                at = &at[step];
                v = &v[ic];
            }
            from = &from[row];
        }
        *y = pl_requantize_s8(&q, acc, m);
        y = &y[ic];
        x = &x[next];
    }
}

/* A convolution of each channel with one filter of its own. */
static inline void pl_depthwise_s8(const pl_conv_s8_t *s,
                                   const int8_t *x, // (n, ih, iw, ic)
                                   const int8_t *w, // (kh, kw, ic)
                                   const int32_t *bias, const int32_t *m,
                                   int8_t *y,     // (n, oh, ow, ic)
                                   void *scratch) // the patch
{
    int8_t *const patch = (int8_t *)scratch; // (kh, columns, ic)
    const bool three = (s->kh == 3) && (s->kw == 3) && (s->sw == 1) && (s->dw == 1);
    for (int32_t i = 0; i < s->n; i++) {
        for (int32_t j = 0; j < s->oh; j++) {
            for (int32_t k = 0; k < s->in_row; k++) {
                pl_group_s8_t g;
                pl_group_s8(s, i, j, k, &g);
                const int32_t row = (((g.pixels - 1) * s->sw) + ((s->kw - 1) * s->dw) + 1) * s->ic;
                int8_t *out = y + (((((g.image * s->oh) + g.row) * s->ow) + g.col) * s->ic);
                pl_gather_channels_s8(s, &g, x + (g.image * s->ih * s->iw * s->ic), patch);
                for (int32_t c = 0; c < s->ic; c++) {
                    if (three) {
                        pl_depthwise3_s8(s, g.pixels, row, patch + c, w + c, bias[c], m[c], out + c);
                    } else {
                        pl_depthwise_any_s8(s, g.pixels, row, patch + c, w + c, bias[c], m[c], out + c);
                    }
                }
            }
        }
    }
}

#endif
