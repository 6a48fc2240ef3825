#ifndef PL_DEPTHWISE_TFLM_S8_H
#define PL_DEPTHWISE_TFLM_S8_H

#include "channels_s8.h"
#include "tflm.h"

/* The accumulator of one channel and pixel. */
static inline int32_t pl_depthwise_sum_s8(const pl_conv_s8_t *s, int32_t row, const int8_t *x_start,
                                          const int8_t *w_start, int32_t bias)
{
    const int8_t *x = x_start;
    const int8_t *w = w_start;
    const int32_t ic = s->ic;
    const int32_t step = s->dw * ic;
    int32_t acc = bias;
    for (int32_t r = s->kh; r > 0; r--) {
        const int8_t *at = x;
        for (int32_t c = s->kw; c > 0; c--) {
            acc += *at * *w;
            at = &at[step];
            w = &w[ic];
        }
        x = &x[row];
    }
    return acc;
}

/* A convolution of each channel with one filter of its own, rounded as TFLM does. */
static inline void pl_depthwise_tflm_s8(const pl_conv_s8_t *s,
                                        const int8_t *x, // (n, ih, iw, ic)
                                        const int8_t *w, // (kh, kw, ic)
                                        const int32_t *bias, const int32_t *m, const int32_t *shifts,
                                        int8_t *y,     // (n, oh, ow, ic)
                                        void *scratch) // the patch
{
    int8_t *const patch = (int8_t *)scratch; // (kh, columns, ic)
    const int32_t next = s->sw * s->ic;
    const pl_requantize_t q = {s->q.zy, 0, s->q.lo, s->q.hi}; // a store to y might change what s points to
    for (int32_t i = 0; i < s->n; i++) {
        for (int32_t j = 0; j < s->oh; j++) {
            for (int32_t k = 0; k < s->in_row; k++) {
                pl_group_s8_t g;
                pl_group_s8(s, i, j, k, &g);
                const int32_t row = (((g.pixels - 1) * s->sw) + ((s->kw - 1) * s->dw) + 1) * s->ic;
                int8_t *out = y + (((((g.image * s->oh) + g.row) * s->ow) + g.col) * s->ic);
                pl_gather_channels_s8(s, &g, x + (g.image * s->ih * s->iw * s->ic), patch);
                for (int32_t c = 0; c < s->ic; c++) {
                    for (int32_t p = 0; p < g.pixels; p++) {
                        const int32_t acc = pl_depthwise_sum_s8(s, row, patch + c + (p * next), w + c, bias[c]);
                        out[(p * s->ic) + c] = (int8_t)pl_tflm_output(acc, m[c], shifts[c], q.zy, q.lo, q.hi);
                    }
                }
            }
        }
    }
}

#endif
