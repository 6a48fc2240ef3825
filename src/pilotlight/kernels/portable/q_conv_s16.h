#ifndef PL_Q_CONV_S16_H
#define PL_Q_CONV_S16_H

#include <stdbool.h>

#include "conv_s8.h"
#include "integer.h"
#include "q_clamp.h"
#include "q_dense_s16.h"
#include "requantize_s16.h"

/* acc (2, 2) = the sums of k products of two pixels x and z with two filters. Of every four taps w holds the first
 * filter's in the order 0 2 1 3, then the second's: what the DSP extension widens to pairs in one instruction each.
 * */
#if defined(__GNUC__) && defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED)
typedef struct {
    uint32_t bits;
} __attribute__((__packed__, __may_alias__)) pl_pair_s16_t;

#define PL_PAIR_S16(p) (((const pl_pair_s16_t *)(const void *)(p))->bits)
#define PL_SMLAD_S16(a, u, v) __asm__("smlad %0, %1, %2, %0" : "+r"(a) : "r"(u), "r"(v))
#define PL_FOUR_S16(i)                                                                                                 \
    u = PL_PAIR_S16(w + (2 * (i)));                                                                                    \
    v = PL_PAIR_S16(w + (2 * (i)) + 4);                                                                                \
    __asm__("sxtb16 %0, %1" : "=r"(first) : "r"(u));                                                                   \
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(u) : "r"(u));                                                               \
    __asm__("sxtb16 %0, %1" : "=r"(last) : "r"(v));                                                                    \
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(v) : "r"(v));                                                               \
    t = PL_PAIR_S16(x + (i));                                                                                          \
    PL_SMLAD_S16(a0, t, first);                                                                                        \
    PL_SMLAD_S16(a1, t, last);                                                                                         \
    t = PL_PAIR_S16(z + (i));                                                                                          \
    PL_SMLAD_S16(b0, t, first);                                                                                        \
    PL_SMLAD_S16(b1, t, last);                                                                                         \
    t = PL_PAIR_S16(x + (i) + 2);                                                                                      \
    PL_SMLAD_S16(a0, t, u);                                                                                            \
    PL_SMLAD_S16(a1, t, v);                                                                                            \
    t = PL_PAIR_S16(z + (i) + 2);                                                                                      \
    PL_SMLAD_S16(b0, t, u);                                                                                            \
    PL_SMLAD_S16(b1, t, v);                                                                                            \
    PL_BARRIER(w);                                                                                                     \
    PL_BARRIER(x);                                                                                                     \
    PL_BARRIER(z);
PL_Q_APART void pl_dots_s16(const int16_t *x_start, const int16_t *z_start, const int8_t *w_start, int32_t k_start,
                            int32_t *acc)
{
    const int16_t *x = x_start;
    const int16_t *z = z_start;
    const int8_t *w = w_start;
    int32_t k = k_start;
    int32_t a0 = 0;
    int32_t a1 = 0;
    int32_t b0 = 0;
    int32_t b1 = 0;
    uint32_t u;
    uint32_t v;
    uint32_t first;
    uint32_t last;
    uint32_t t;
    for (; k >= 16; k -= 16) {
        PL_FOUR_S16(0)
        PL_FOUR_S16(4)
        PL_FOUR_S16(8)
        PL_FOUR_S16(12)
        x = &x[16];
        z = &z[16];
        w = &w[32];
    }
    for (; k >= 4; k -= 4) {
        PL_FOUR_S16(0)
        x = &x[4];
        z = &z[4];
        w = &w[8];
    }
#else
#define PL_TAP_S16(i, at)                                                                                              \
    t = x[i];                                                                                                          \
    a0 += t * w[at];                                                                                                   \
    a1 += t * w[(at) + 4];                                                                                             \
    t = z[i];                                                                                                          \
    b0 += t * w[at];                                                                                                   \
    b1 += t * w[(at) + 4];
PL_Q_APART void pl_dots_s16(const int16_t *x_start, const int16_t *z_start, const int8_t *w_start, int32_t k_start,
                            int32_t *acc)
{
    const int16_t *x = x_start;
    const int16_t *z = z_start;
    const int8_t *w = w_start;
    int32_t k = k_start;
    int32_t a0 = 0;
    int32_t a1 = 0;
    int32_t b0 = 0;
    int32_t b1 = 0;
    int32_t t;
    for (; k >= 4; k -= 4) {
        PL_TAP_S16(0, 0)
        PL_TAP_S16(1, 2)
        PL_TAP_S16(2, 1)
        PL_TAP_S16(3, 3)
        x = &x[4];
        z = &z[4];
        w = &w[8];
    }
#endif
    for (int32_t i = 0; i < k; i++) {
        const int8_t *at = w + ((i == 1) ? 2 : (i == 2) ? 1 : i);
        a0 += x[i] * at[0];
        a1 += x[i] * at[4];
        b0 += z[i] * at[0];
        b1 += z[i] * at[4];
    }
    acc[0] = a0;
    acc[1] = a1;
    acc[2] = b0;
    acc[3] = b1;
}

/* acc (2, 2) = bias + all products of two pixels with two filters, as 32 bits: in chunks where they do not hold the
 * sum, which is then shifted right. */
static inline void pl_sums_s16(const pl_conv_s16_t *s, const int16_t *x, const int16_t *z, const int8_t *w,
                               const int32_t *bias, int32_t k, int32_t *acc)
{
    const int32_t chunk = s->chunk;
    const int32_t down = s->down;
    pl_dots_s16(x, z, w, (k < chunk) ? k : chunk, acc);
    if (down == 0) {
        acc[0] += bias[0];
        acc[1] += bias[1];
        acc[2] += bias[0];
        acc[3] += bias[1];
    } else {
        int64_t sum[4]; // (2, 2)
        sum[0] = (int64_t)bias[0] + acc[0];
        sum[1] = (int64_t)bias[1] + acc[1];
        sum[2] = (int64_t)bias[0] + acc[2];
        sum[3] = (int64_t)bias[1] + acc[3];
        for (int32_t at = chunk; at < k; at += chunk) {
            pl_dots_s16(x + at, z + at, w + (2 * at), ((k - at) < chunk) ? (k - at) : chunk, acc);
            sum[0] += acc[0];
            sum[1] += acc[1];
            sum[2] += acc[2];
            sum[3] += acc[3];
        }
        acc[0] = pl_q_down(sum[0], down);
        acc[1] = pl_q_down(sum[1], down);
        acc[2] = pl_q_down(sum[2], down);
        acc[3] = pl_q_down(sum[3], down);
    }
}

/* All filters of one group of channels at one group of pixels, into y (pixels, oc) from element `first` on. */
static inline void pl_filters_s16(const pl_conv_s16_t *s, int32_t pixels, const int16_t *patch, const int8_t *w_start,
                                  const int32_t *bias, const int32_t *m, void *y, int32_t first)
{
    const int8_t *w = w_start;
    const int32_t k = s->c.kw * s->c.kh * pl_shr(s->c.icg, 1);
    const int32_t step = s->c.step * s->c.kh * pl_shr(s->c.icg, 1);
    const int32_t oc = s->c.oc;
    const int32_t ocg = s->c.ocg;
    const pl_put_s16_t put = pl_put_of_s16(s);
    for (int32_t f = 0; f < ocg; f += 2) {
        const int32_t m0 = m[f];
        const int32_t m1 = m[f + 1];
        const bool both = (f + 1) < ocg;
        for (int32_t p = 0; p < pixels; p += 2) {
            const bool two = (p + 1) < pixels;
            const int16_t *x = patch + (p * step); // (kw, kh, icg)
            const int32_t at = first + (p * oc) + f;
            int32_t acc[4]; // (2, 2)
            pl_sums_s16(s, x, two ? (x + step) : x, w, bias + f, k, acc);
            pl_put_s16(&put, acc[0], m0, y, at);
            if (both) {
                pl_put_s16(&put, acc[1], m1, y, at + 1);
            }
            if (two) {
                pl_put_s16(&put, acc[2], m0, y, at + oc);
                if (both) {
                    pl_put_s16(&put, acc[3], m1, y, at + oc + 1);
                }
            }
        }
        w = &w[2 * ((k + 3) & ~3)];
    }
}

/* A convolution. w is packed in blocks of two filters, (group, block, taps / 4, 2, 4); bias and m have one value per
 * filter and as many as fill the last block of each group. */
static inline void pl_conv_s16(const pl_conv_s16_t *s,
                               const int16_t *x, // (n, ih, iw, ic)
                               const int8_t *w, const int32_t *bias, const int32_t *m,
                               void *y,       // (n, oh, ow, oc)
                               void *scratch) // the patch (columns, kh, icg)
{
    const pl_conv_s8_t *c = &s->c;
    const int32_t filled = (c->ocg + 1) & ~1;
    const int32_t taps = ((c->kw * c->kh * pl_shr(c->icg, 1)) + 3) & ~3;
    for (int32_t i = 0; i < c->n; i++) {
        for (int32_t j = 0; j < c->oh; j++) {
            for (int32_t k = 0; k < c->in_row; k++) {
                pl_group_s8_t g;
                pl_group_s8(c, i, j, k, &g);
                const int8_t *image = (const int8_t *)x + (g.image * c->ih * c->iw * c->ic);
                const int32_t out = ((((g.image * c->oh) + g.row) * c->ow) + g.col) * c->oc;
                for (int32_t part = 0; part < c->groups; part++) {
                    pl_gather_s8(c, &g, image + (part * c->icg), (int8_t *)scratch);
                    pl_filters_s16(s, g.pixels, (const int16_t *)scratch, w + (part * filled * taps),
                                   bias + (part * filled), m + (part * filled), y, out + (part * c->ocg));
                }
            }
        }
    }
}

/* One row of inputs x (ic) to outputs y (oc), read where they are: no patch. */
static inline void pl_row_s16(const pl_conv_s16_t *s, const int16_t *x, const int8_t *w, const int32_t *bias,
                              const int32_t *m, void *y)
{
    pl_filters_s16(s, 1, x, w, bias, m, y, 0);
}

#endif
