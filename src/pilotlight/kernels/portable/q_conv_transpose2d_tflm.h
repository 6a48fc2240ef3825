#ifndef PL_Q_CONV_TRANSPOSE2D_TFLM_H
#define PL_Q_CONV_TRANSPOSE2D_TFLM_H

#include "q_transposed.h"
#include "tflm.h"

/* Gathered: every output pixel sums the taps that reach it; rounded as TFLM does. w holds in each group blocks of 4
 * filters, the last one narrower where 4 does not divide them, each (kh, kw, ic / groups, width). bias, m and shifts
 * (oc). */
static inline void pl_q_conv_transpose2d_tflm(const pl_q_conv_transpose2d_t *s, const int8_t *x_start, const int8_t *w,
                                              const int32_t *bias, const int32_t *m, const int32_t *shifts,
                                              int8_t *y_start)
{
    const int8_t *x = x_start;
    int8_t *y = y_start;
    const int32_t icg = s->ic / s->groups;
    const int32_t ocg = s->oc / s->groups;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t at = 0; at < (s->oh * s->ow); at++) {
            const int8_t *block = w;
            int32_t c = 0;
            for (int32_t g = 0; g < s->groups; g++) {
                int32_t width;
                for (int32_t f = 0; f < ocg; f += width) {
                    pl_q_transposed_t a = {bias[c], 0, 0, 0};
                    width = ((ocg - f) < 4) ? (ocg - f) : 4;
                    a.a1 = (width > 1) ? bias[c + 1] : 0;
                    a.a2 = (width > 2) ? bias[c + 2] : 0;
                    a.a3 = (width > 3) ? bias[c + 3] : 0;
                    pl_q_transposed_block(s, x + (g * icg), block, &a, at / s->ow, at % s->ow, width);
                    block = &block[s->kh * s->kw * icg * width];
                    const int32_t sums[4] = {a.a0, a.a1, a.a2, a.a3};
                    for (int32_t j = 0; j < width; j++) {
                        y[j] =
                            (int8_t)pl_tflm_output(sums[j], m[c + j], shifts[c + j], s->out.zy, s->out.lo, s->out.hi);
                    }
                    c += width;
                    y = &y[width];
                }
            }
        }
        x = &x[s->ih * s->iw * s->ic];
    }
}

#endif
