#ifndef PL_CONV_TRANSPOSE2D_F32_H
#define PL_CONV_TRANSPOSE2D_F32_H

#include <stdint.h>

/* The shape of a 2-d transposed convolution, channels last. */
typedef struct {
    int32_t n, ih, iw, ic; // input (n, ih, iw, ic)
    int32_t oh, ow, oc;    // output (n, oh, ow, oc), output padding included
    int32_t kh, kw;        // kernel
    int32_t sh, sw;        // stride
    int32_t pt, pl;        // padding taken off above and to the left
    int32_t dh, dw;        // dilation
    int32_t groups;        // of channels
} pl_conv_transpose2d_t;

/* The input row or column that tap k of output o reads, or -1. */
static inline int32_t pl_transposed_tap(int32_t o, int32_t k, int32_t stride, int32_t padding, int32_t dilation,
                                        int32_t size)
{
    const int32_t at = o + padding - k * dilation;
    return at < 0 || at % stride != 0 || at / stride >= size ? -1 : at / stride;
}

/* One output pixel, four filters: y (4). x points at the group's first channel, w at the block. */
static inline void pl_transposed_x4_f32(const pl_conv_transpose2d_t *s, const float *x, const float *w,
                                        const float *bias, float *y, int32_t oy, int32_t ox)
{
    const int32_t icg = s->ic / s->groups;
    float a0 = bias ? bias[0] : 0.0f, a1 = bias ? bias[1] : 0.0f;
    float a2 = bias ? bias[2] : 0.0f, a3 = bias ? bias[3] : 0.0f;
    for (int32_t r = 0; r < s->kh; r++) {
        const int32_t iy = pl_transposed_tap(oy, r, s->sh, s->pt, s->dh, s->ih);
        for (int32_t q = 0; iy >= 0 && q < s->kw; q++) {
            const int32_t ix = pl_transposed_tap(ox, q, s->sw, s->pl, s->dw, s->iw);
            if (ix >= 0) {
                const float *p = x + (iy * s->iw + ix) * s->ic;   // (icg)
                const float *t = w + (r * s->kw + q) * icg * 4;   // (icg, 4)
                for (int32_t k = 0; k < icg; k++, t += 4) {
                    const float v = p[k];
                    a0 += v * t[0];
                    a1 += v * t[1];
                    a2 += v * t[2];
                    a3 += v * t[3];
                }
            }
        }
    }
    y[0] = a0;
    y[1] = a1;
    y[2] = a2;
    y[3] = a3;
}

/* One output pixel, one filter of a block of `width`; w points at the filter's first weight. */
static inline float pl_transposed_x1_f32(const pl_conv_transpose2d_t *s, const float *x, const float *w, float a,
                                         int32_t oy, int32_t ox, int32_t width)
{
    const int32_t icg = s->ic / s->groups;
    for (int32_t r = 0; r < s->kh; r++) {
        const int32_t iy = pl_transposed_tap(oy, r, s->sh, s->pt, s->dh, s->ih);
        for (int32_t q = 0; iy >= 0 && q < s->kw; q++) {
            const int32_t ix = pl_transposed_tap(ox, q, s->sw, s->pl, s->dw, s->iw);
            if (ix >= 0) {
                const float *p = x + (iy * s->iw + ix) * s->ic;       // (icg)
                const float *t = w + (r * s->kw + q) * icg * width;   // (icg, width)
                for (int32_t k = 0; k < icg; k++, t += width) {
                    a += p[k] * t[0];
                }
            }
        }
    }
    return a;
}

/* A transposed convolution, gathered: every output pixel sums the taps that reach it. w is packed from PyTorch's
 * (ic, oc / groups, kh, kw): in each group blocks of 4 filters, the last one narrower where 4 does not divide
 * them, each block (kh, kw, ic / groups, width). bias (oc) may be null. */
static inline void pl_conv_transpose2d_f32(const pl_conv_transpose2d_t *s, const float *x, const float *w,
                                           const float *bias, float *y)
{
    const int32_t icg = s->ic / s->groups, ocg = s->oc / s->groups;
    for (int32_t n = 0; n < s->n; n++, x += s->ih * s->iw * s->ic) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            for (int32_t ox = 0; ox < s->ow; ox++) {
                const float *block = w, *b = bias;
                for (int32_t g = 0; g < s->groups; g++) {
                    int32_t f = 0;
                    for (; f + 4 <= ocg; f += 4, y += 4, block += s->kh * s->kw * icg * 4) {
                        pl_transposed_x4_f32(s, x + g * icg, block, b, y, oy, ox);
                        b = b ? b + 4 : b;
                    }
                    for (int32_t i = 0; i < ocg - f; i++, y++) {
                        y[0] = pl_transposed_x1_f32(s, x + g * icg, block + i, b ? b[i] : 0.0f, oy, ox, ocg - f);
                    }
                    b = b ? b + (ocg - f) : b;
                    block += s->kh * s->kw * icg * (ocg - f);
                }
            }
        }
    }
}

#endif
