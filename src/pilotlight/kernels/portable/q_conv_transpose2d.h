#ifndef PL_Q_CONV_TRANSPOSE2D_H
#define PL_Q_CONV_TRANSPOSE2D_H

#include "q_transposed.h"

/* Gathered: every output pixel sums the taps that reach it. w holds in each group blocks of 4 filters, the last one
 * narrower where 4 does not divide them, each (kh, kw, ic / groups, width). bias and m (oc). */
static inline void pl_q_conv_transpose2d(const pl_q_conv_transpose2d_t *s, const int8_t *x_start, const int8_t *w,
                                         const int32_t *bias, const int32_t *m, int8_t *y_start)
{
    const int8_t *x = x_start;
    int8_t *y = y_start;
    const int32_t icg = s->ic / s->groups;
    const int32_t ocg = s->oc / s->groups;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t at = 0; at < (s->oh * s->ow); at++) {
            const int8_t *block = w;
            const int32_t *b = bias;
            const int32_t *factor = m;
            for (int32_t g = 0; g < s->groups; g++) {
                int32_t width;
                for (int32_t f = 0; f < ocg; f += width) {
                    pl_q_transposed_t a = {b[0], 0, 0, 0};
                    width = ((ocg - f) < 4) ? (ocg - f) : 4;
                    a.a1 = b[width > 1];
                    a.a2 = b[(width > 2) ? 2 : 0];
                    a.a3 = b[(width > 3) ? 3 : 0];
                    pl_q_transposed_block(s, x + (g * icg), block, &a, at / s->ow, at % s->ow, width);
                    block = &block[s->kh * s->kw * icg * width];
                    y[0] = pl_requantize_s8(&s->out, a.a0, factor[0]);
                    if (width > 1) {
                        y[1] = pl_requantize_s8(&s->out, a.a1, factor[1]);
                    }
                    if (width > 2) {
                        y[2] = pl_requantize_s8(&s->out, a.a2, factor[2]);
                    }
                    if (width > 3) {
                        y[3] = pl_requantize_s8(&s->out, a.a3, factor[3]);
                    }
                    b = &b[width];
                    factor = &factor[width];
                    y = &y[width];
                }
            }
        }
        x = &x[s->ih * s->iw * s->ic];
    }
}

#endif
