#ifndef PL_DOTS_S8_H
#define PL_DOTS_S8_H

#include <stddef.h>
#include <stdint.h>

#include "patch_s8.h"

/* One kernel row of a run of columns; row is null outside the image. Columns go into the patch `column` apart. */
static inline void pl_gather_row_s8(const pl_conv_s8_t *s, const pl_run_s8_t *t, int32_t at_start, const int8_t *row,
                                    int8_t *to_start, int32_t column)
{
    int32_t at = at_start;
    int8_t *to = to_start;
    const int32_t channels = s->icg;
    const int32_t step = t->step;
    const int32_t end = (row != NULL) ? s->iw : 0;
    for (int32_t c = t->count; c > 0; c--) {
        if ((at < 0) || (at >= end)) {
            for (int32_t k = 0; k < channels; k++) {
                to[k] = (int8_t)s->zx;
                PL_BARRIER(to);
            }
        } else if ((channels & 3) == 0) {
            pl_copy(to, row + (at * s->ic), channels);
        } else {
            const int8_t *from = row + (at * s->ic);
            int8_t *place = to;
            for (int32_t k = channels; k > 0; k--) {
                PL_BARRIER(place);
                *place = *from;
                place++;
                from++;
            }
        }
        at += step;
        to = &to[column];
    }
}

/* Copies what a group of pixels sees of one group of channels; x is the image, at the first of those channels. */
static inline void pl_gather_s8(const pl_conv_s8_t *s, const pl_group_s8_t *g,
                                const int8_t *x,     // (ih, iw, ic)
                                int8_t *patch_start) // (columns, kh, icg)
{
    int8_t *patch = patch_start;
    pl_run_s8_t t;
    pl_runs_s8(s, g, &t);
    const int32_t column = s->kh * s->icg;
    for (int32_t i = 0; i < t.runs; i++) {
        int32_t row = (g->row * s->sh) - s->top;
        for (int32_t r = 0; r < s->kh; r++) {
            const int8_t *from = ((row >= 0) && (row < s->ih)) ? (x + (row * s->iw * s->ic)) : NULL;
            pl_gather_row_s8(s, &t, t.at + (i * t.at_run), from, patch + (r * s->icg), column);
            row += s->dh;
        }
        patch = &patch[s->kw * column];
    }
}

/* One pixel by four filters. */
#define PL_TAP1_S8(i)                                                                                                  \
    v = x[i];                                                                                                          \
    a0 += v * w[4 * (i)];                                                                                              \
    a1 += v * w[(4 * (i)) + 1];                                                                                        \
    a2 += v * w[(4 * (i)) + 2];                                                                                        \
    a3 += v * w[(4 * (i)) + 3];
static inline void pl_dot1_s8(const int8_t *x_start, const int8_t *w_start, const int32_t *bias, int32_t k_start,
                              int32_t *acc)
{
    const int8_t *x = x_start;
    const int8_t *w = w_start;
    int32_t k = k_start;
    int32_t a0 = bias[0];
    int32_t a1 = bias[1];
    int32_t a2 = bias[2];
    int32_t a3 = bias[3];
    int32_t v;
    for (; k >= 4; k -= 4) {
        PL_TAP1_S8(0)
        PL_TAP1_S8(1)
        PL_TAP1_S8(2)
        PL_TAP1_S8(3)
        x = &x[4];
        w = &w[16];
    }
    for (; k > 0; k--) {
        PL_TAP1_S8(0)
        x++;
        w = &w[4];
    }
    acc[0] = a0;
    acc[1] = a1;
    acc[2] = a2;
    acc[3] = a3;
}

#if defined(__arm__)
enum { PL_PIXELS_S8 = 2 };

/* Two pixels by two of four filters: what thirteen registers hold. */
#define PL_TAP2_S8(i)                                                                                                  \
    u = w[4 * (i)];                                                                                                    \
    v = w[(4 * (i)) + 1];                                                                                              \
    t = x[i];                                                                                                          \
    a0 += t * u;                                                                                                       \
    a1 += t * v;                                                                                                       \
    t = z[i];                                                                                                          \
    b0 += t * u;                                                                                                       \
    b1 += t * v;                                                                                                       \
    PL_BARRIER(w);                                                                                                     \
    PL_BARRIER(x);                                                                                                     \
    PL_BARRIER(z);
static inline void pl_half_s8(const int8_t *x_start, int32_t step, const int8_t *w_start, const int32_t *bias,
                              int32_t k_start, int32_t *acc)
{
    const int8_t *x = x_start;
    const int8_t *w = w_start;
    int32_t k = k_start;
    const int8_t *z = x + step;
    int32_t a0 = bias[0];
    int32_t a1 = bias[1];
    int32_t b0 = a0;
    int32_t b1 = a1;
    int32_t t;
    int32_t u;
    int32_t v;
    for (; k >= 4; k -= 4) {
        PL_TAP2_S8(0)
        PL_TAP2_S8(1)
        PL_TAP2_S8(2)
        PL_TAP2_S8(3)
        x = &x[4];
        z = &z[4];
        w = &w[16];
    }
    for (; k > 0; k--) {
        PL_TAP2_S8(0)
        x++;
        z++;
        w = &w[4];
    }
    acc[0] = a0;
    acc[1] = a1;
    acc[4] = b0;
    acc[5] = b1;
}

static inline void pl_dots_s8(const int8_t *x, int32_t step, const int8_t *w, const int32_t *bias, int32_t k,
                              int32_t *acc) // (2, 4)
{
    pl_half_s8(x, step, w, bias, k, acc);
    pl_half_s8(x, step, w + 2, bias + 2, k, acc + 2);
}
#else
enum { PL_PIXELS_S8 = 3 };

/* Three pixels by four filters: what twenty-eight registers hold, as long as the compiler does not load the next tap
 * early. */
#define PL_TAP3_S8(i)                                                                                                  \
    w0 = w[4 * (i)];                                                                                                   \
    w1 = w[(4 * (i)) + 1];                                                                                             \
    w2 = w[(4 * (i)) + 2];                                                                                             \
    w3 = w[(4 * (i)) + 3];                                                                                             \
    t = x[i];                                                                                                          \
    a0 += t * w0;                                                                                                      \
    a1 += t * w1;                                                                                                      \
    a2 += t * w2;                                                                                                      \
    a3 += t * w3;                                                                                                      \
    t = x1[i];                                                                                                         \
    b0 += t * w0;                                                                                                      \
    b1 += t * w1;                                                                                                      \
    b2 += t * w2;                                                                                                      \
    b3 += t * w3;                                                                                                      \
    t = x2[i];                                                                                                         \
    c0 += t * w0;                                                                                                      \
    c1 += t * w1;                                                                                                      \
    c2 += t * w2;                                                                                                      \
    c3 += t * w3;                                                                                                      \
    PL_BARRIER(w);                                                                                                     \
    PL_BARRIER(x);                                                                                                     \
    PL_BARRIER(x1);                                                                                                    \
    PL_BARRIER(x2);
static inline void pl_dots_s8(const int8_t *x_start, int32_t step, const int8_t *w_start, const int32_t *bias,
                              int32_t k_start,
                              int32_t *acc) // (3, 4)
{
    const int8_t *x = x_start;
    const int8_t *w = w_start;
    int32_t k = k_start;
    const int8_t *x1 = x + step;
    const int8_t *x2 = x1 + step;
    int32_t a0 = bias[0];
    int32_t a1 = bias[1];
    int32_t a2 = bias[2];
    int32_t a3 = bias[3];
    int32_t b0 = a0;
    int32_t b1 = a1;
    int32_t b2 = a2;
    int32_t b3 = a3;
    int32_t c0 = a0;
    int32_t c1 = a1;
    int32_t c2 = a2;
    int32_t c3 = a3;
    int32_t t;
    int32_t w0;
    int32_t w1;
    int32_t w2;
    int32_t w3;
    for (; k >= 4; k -= 4) {
        PL_TAP3_S8(0)
        PL_TAP3_S8(1)
        PL_TAP3_S8(2)
        PL_TAP3_S8(3)
        x = &x[4];
        x1 = &x1[4];
        x2 = &x2[4];
        w = &w[16];
    }
    for (; k > 0; k--) {
        PL_TAP3_S8(0)
        x++;
        x1++;
        x2++;
        w = &w[4];
    }
    acc[0] = a0;
    acc[1] = a1;
    acc[2] = a2;
    acc[3] = a3;
    acc[4] = b0;
    acc[5] = b1;
    acc[6] = b2;
    acc[7] = b3;
    acc[8] = c0;
    acc[9] = c1;
    acc[10] = c2;
    acc[11] = c3;
}
#endif

#endif
