#ifndef PL_Q_DEPTHWISE_S16_H
#define PL_Q_DEPTHWISE_S16_H

#include <stdbool.h>

#include "depthwise_s8.h"
#include "q_clamp.h"
#include "q_dense_s16.h"
#include "requantize_s16.h"

/* One channel along a row of outputs that lie `channels` elements apart. */
typedef struct {
    pl_put_s16_t put;
    int32_t pixels; // row: elements from a row of the patch to the next
    int32_t channels;
    int32_t row;
    int32_t bias;
    int32_t m;
    int32_t down;
} pl_line_s16_t;

/* One by one: a copy of the whole may become a call of memcpy. */
static inline void pl_line_copy_s16(pl_line_s16_t *to, const pl_line_s16_t *from)
{
    to->put.q.zy = from->put.q.zy;
    to->put.q.shift = from->put.q.shift;
    to->put.q.lo = from->put.q.lo;
    to->put.q.hi = from->put.q.hi;
    to->put.narrow = from->put.narrow;
    to->pixels = from->pixels;
    to->channels = from->channels;
    to->row = from->row;
    to->bias = from->bias;
    to->m = from->m;
    to->down = from->down;
}

static inline void pl_line_put_s16(const pl_line_s16_t *t, int32_t sum, void *y, int32_t at)
{
    pl_put_s16(&t->put, (t->down != 0) ? pl_q_down((int64_t)sum + t->bias, t->down) : (sum + t->bias), t->m, y, at);
}

/* 3x3 and stride 1: each column is loaded once, and goes into three sums. */
PL_Q_APART void pl_depthwise3_s16(const pl_line_s16_t *line, const int16_t *x_start, const int8_t *w, void *y,
                                  int32_t at_start)
{
    const int16_t *x = x_start;
    int32_t at = at_start;
    pl_line_s16_t t;
    pl_line_copy_s16(&t, line);
    const int32_t n = t.channels;
    const int16_t *x1 = x + t.row;
    const int16_t *x2 = x1 + t.row;
    const int32_t w00 = w[0];
    const int32_t w01 = w[n];
    const int32_t w02 = w[2 * n];
    const int32_t w10 = w[3 * n];
    const int32_t w11 = w[4 * n];
    const int32_t w12 = w[5 * n];
    const int32_t w20 = w[6 * n];
    const int32_t w21 = w[7 * n];
    const int32_t w22 = w[8 * n];
    int32_t first = (*x * w00) + (*x1 * w10) + (*x2 * w20); // one of three columns, two of three
    int32_t second;
    x = &x[n];
    x1 = &x1[n];
    x2 = &x2[n];
    second = first + (*x * w01) + (*x1 * w11) + (*x2 * w21);
    first = (*x * w00) + (*x1 * w10) + (*x2 * w20);
    for (int32_t p = t.pixels; p > 0; p--) {
        x = &x[n];
        x1 = &x1[n];
        x2 = &x2[n];
        const int32_t a = *x; // the column
        const int32_t b = *x1;
        const int32_t c = *x2;
        pl_line_put_s16(&t, second + (a * w02) + (b * w12) + (c * w22), y, at);
        second = first + (a * w01) + (b * w11) + (c * w21);
        first = (a * w00) + (b * w10) + (c * w20);
        at += n;
    }
}

/* Any kernel: w (kh, kw, channels) at the channel, `across` elements from a tap to the next. */
PL_Q_APART void pl_depthwise_any_s16(const pl_line_s16_t *line, const pl_conv_s8_t *c, const int16_t *x_start,
                                     const int8_t *w, void *y, int32_t at_start)
{
    const int16_t *x = x_start;
    int32_t at = at_start;
    pl_line_s16_t t;
    pl_line_copy_s16(&t, line);
    const int32_t across = c->dw * t.channels;
    const int32_t next = c->sw * t.channels;
    const int32_t kh = c->kh;
    const int32_t kw = c->kw;
    for (int32_t p = t.pixels; p > 0; p--) {
        const int16_t *from = x;
        const int8_t *v = w;
        int32_t sum = 0;
        for (int32_t r = kh; r > 0; r--) {
            const int16_t *tap = from;
            for (int32_t q = kw; q > 0; q--) {
                sum += *tap * *v;
                tap = &tap[across];
                v = &v[t.channels];
            }
            from = &from[t.row];
        }
        pl_line_put_s16(&t, sum, y, at);
        x = &x[next];
        at += t.channels;
    }
}

/* A convolution of each channel of int16 with one filter of its own, of at most `chunk` taps. */
static inline void pl_depthwise_s16(const pl_conv_s16_t *s,
                                    const int16_t *x, // (n, ih, iw, ic)
                                    const int8_t *w,  // (kh, kw, ic)
                                    const int32_t *bias, const int32_t *m,
                                    void *y,       // (n, oh, ow, ic)
                                    void *scratch) // the patch (kh, columns, ic)
{
    const pl_conv_s8_t *c = &s->c;
    const int32_t channels = c->oc;
    const bool three = (c->kh == 3) && (c->kw == 3) && (c->sw == 1) && (c->dw == 1);
    const int16_t *patch = (const int16_t *)scratch;
    pl_line_s16_t t;
    t.put = pl_put_of_s16(s);
    t.channels = channels;
    t.down = s->down;
    for (int32_t i = 0; i < c->n; i++) {
        for (int32_t j = 0; j < c->oh; j++) {
            for (int32_t k = 0; k < c->in_row; k++) {
                pl_group_s8_t g;
                pl_group_s8(c, i, j, k, &g);
                const int32_t out = ((((g.image * c->oh) + g.row) * c->ow) + g.col) * channels;
                t.pixels = g.pixels;
                t.row = (((g.pixels - 1) * c->sw) + ((c->kw - 1) * c->dw) + 1) * channels;
                pl_gather_channels_s8(c, &g, (const int8_t *)x + (g.image * c->ih * c->iw * c->ic), (int8_t *)scratch);
                for (int32_t f = 0; f < channels; f++) {
                    t.bias = bias[f];
                    t.m = m[f];
                    if (three) {
                        pl_depthwise3_s16(&t, patch + f, w + f, y, out + f);
                    } else {
                        pl_depthwise_any_s16(&t, c, patch + f, w + f, y, out + f);
                    }
                }
            }
        }
    }
}

#endif
