#ifndef PL_Q_DEPTHWISE_S16_H
#define PL_Q_DEPTHWISE_S16_H

#include "depthwise_s8.h"
#include "q_dense_s16.h"

/* A convolution of each channel of int16 with one filter of its own, of at most `chunk` taps. */
static inline void pl_depthwise_s16(const pl_conv_s16_t *s,
                                    const int16_t *x, // (n, ih, iw, ic)
                                    const int8_t *w,  // (kh, kw, ic)
                                    const int32_t *bias, const int32_t *m,
                                    void *y,       // (n, oh, ow, ic)
                                    void *scratch) // the patch (kh, columns, ic)
{
    const pl_conv_s8_t *c = &s->c;
    const int32_t channels = c->oc, across = c->dw * channels;
    for (int32_t i = 0; i < c->n; i++) {
        for (int32_t j = 0; j < c->oh; j++) {
            for (int32_t k = 0; k < c->in_row; k++) {
                pl_group_s8_t g;
                pl_group_s8(c, i, j, k, &g);
                const int32_t row = ((g.pixels - 1) * c->sw + (c->kw - 1) * c->dw + 1) * channels;
                const int32_t out = ((g.image * c->oh + g.row) * c->ow + g.col) * channels;
                pl_gather_channels_s8(c, &g, (const int8_t *)x + g.image * c->ih * c->iw * c->ic, (int8_t *)scratch);
                for (int32_t p = 0; p < g.pixels; p++) {
                    const int16_t *window = (const int16_t *)scratch + p * c->sw * channels;
                    for (int32_t f = 0; f < channels; f++) {
                        const int16_t *from = window + f;
                        const int8_t *v = w + f;
                        int32_t sum = 0;
                        for (int32_t r = c->kh; r > 0; r--, from += row) {
                            for (int32_t t = 0; t < c->kw; t++, v += channels) {
                                sum += from[t * across] * *v;
                            }
                        }
                        pl_put_s16(s, (int64_t)sum + bias[f], m[f], y, out + p * channels + f);
                    }
                }
            }
        }
    }
}

#endif
