#ifndef PL_Q_CONV_TRANSPOSE2D_S16_H
#define PL_Q_CONV_TRANSPOSE2D_S16_H

#include "q_conv_transpose2d.h"
#include "requantize_s16.h"

/* One output pixel of one filter: w (kh, kw, ic / groups), x the group's first channel. */
PL_Q_APART int64_t pl_q_transposed_sum_s16(const pl_q_conv_transpose2d_t *s, const int16_t *x, const int8_t *w_start,
                                           int32_t oy, int32_t ox)
{
    const int8_t *w = w_start;
    const int32_t icg = s->ic / s->groups;
    int64_t sum = 0;
    for (int32_t r = 0; r < s->kh; r++) {
        const int32_t iy = pl_q_transposed_tap(oy, r, s->sh, s->top, s->dh, s->ih);
        for (int32_t q = 0; q < s->kw; q++) {
            const int32_t ix = pl_q_transposed_tap(ox, q, s->sw, s->left, s->dw, s->iw);
            if ((iy >= 0) && (ix >= 0)) {
                const int16_t *p = x + (((iy * s->iw) + ix) * s->ic); // (icg)
                for (int32_t k = 0; k < icg; k++) {
                    sum += p[k] * w[k];
                }
            }
            w = &w[icg];
        }
    }
    return sum;
}

/* Gathered: every output pixel sums the taps that reach it. w (oc, kh, kw, ic / groups), bias and m (oc). A sum is
 * shifted right by `down`, rounded, before it is multiplied. */
static inline void pl_q_conv_transpose2d_s16(const pl_q_conv_transpose2d_t *s, const int16_t *x_start, const int8_t *w,
                                             const int32_t *bias, const int32_t *m, int16_t *y_start, int32_t down)
{
    const int16_t *x = x_start;
    int16_t *y = y_start;
    const int32_t icg = s->ic / s->groups;
    const int32_t ocg = s->oc / s->groups;
    const int32_t filter = s->kh * s->kw * icg;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            for (int32_t ox = 0; ox < s->ow; ox++) {
                for (int32_t g = 0; g < s->groups; g++) {
                    for (int32_t f = g * ocg; f < ((g + 1) * ocg); f++) {
                        const int64_t sum =
                            bias[f] + pl_q_transposed_sum_s16(s, x + (g * icg), w + (f * filter), oy, ox);
                        *y = pl_requantize_s16(&s->out, (down != 0) ? pl_q_down(sum, down) : (int32_t)sum, m[f]);
                        y++;
                    }
                }
            }
        }
        x = &x[s->ih * s->iw * s->ic];
    }
}

#endif
