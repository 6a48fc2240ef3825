#ifndef PL_CONV_THUMB1_S8_H
#define PL_CONV_THUMB1_S8_H

#include <stdint.h>

#include "dots_s8.h"
#include "requantize.h"

/* int8 convolution with blocks in assembly for Cortex-M0 and M0+: two pixels are in one word, so that a product has
 * both. With PILOTLIGHT_PORTABLE, and elsewhere, their C twin computes the same bytes. */
#if !defined(PILOTLIGHT_PORTABLE) && defined(__thumb__) && !defined(__thumb2__) && (__ARM_ARCH >= 6)
#define PL_THUMB1_ASM 1
#else
#define PL_THUMB1_ASM 0
#endif

typedef struct {
    pl_conv_s8_t s;
    int32_t kind;  // PL_THUMB1_CONV_*: which blocks
    int32_t taps;  // of a window, whole turns of the block's loop; those past its end are zero
    int32_t words; // of a filter's stream
} pl_conv_thumb1_t;

/* All filters of a group of channels at up to four pixels. The stream of a filter: the sum to start from, that of whole
 * words, for every 64 taps or what is left of them a word of flags and the weights, bytes or words, the multiplier. The
 * uppermost flag belongs to the first two taps, the next to the next two: it is set where both halves of the products
 * are added up and begin again, in time before the lower one, which begins with 32768, leaves its 16 bits. The lowest
 * flag that is set belongs to the last two taps. The assembly knows the order of fields. */
typedef struct {
    const int32_t *x; // (taps, words of two pixels)
    const int32_t *x_end;
    const int32_t *w_end;
    int8_t *y;
    int32_t oc; // from a pixel's outputs to the next pixel's
    int32_t zy;
    int32_t lo;
    int32_t hi;
    const int32_t *w;
} pl_thumb1_conv_t;

/* Calls the block of `pixels` pixels; written for each model. */
static inline void pl_thumb1_conv_block_s8(int32_t kind, int32_t pixels, const pl_thumb1_conv_t *t);

static inline void pl_thumb1_conv_twin_s8(const pl_thumb1_conv_t *t, int32_t pixels, int32_t wide, int32_t shift)
{
    const pl_requantize_t q = {t->zy, shift, t->lo, t->hi};
    const int32_t pairs = pl_signed(pl_unsigned(pixels + 1) >> 1);
    int8_t *y = t->y;
    const int32_t *w = t->w;
    while (w != t->w_end) {
        const int32_t *const starts = w;
        for (int32_t p = 0; p < pairs; p++) {
            uint32_t upper = pl_unsigned(starts[0]);
            uint32_t whole = pl_unsigned(starts[1]);
            uint32_t some = 0x8000u;
            uint32_t flags = 0;
            const int8_t *bytes = NULL;
            int32_t tap = 0;
            w = &starts[2];
            for (const int32_t *x = t->x; x != t->x_end; x = &x[pairs]) {
                if ((tap & 63) == 0) {
                    flags = pl_unsigned(w[0]);
                    w = &w[1];
                }
                if ((wide != 0) || ((tap & 3) == 0)) {
                    bytes = (const int8_t *)w;
                    w = &w[1];
                }
                some += pl_unsigned(x[p]) * pl_unsigned(bytes[(wide != 0) ? 0 : (tap & 3)]);
                if ((tap & 1) != 0) {
                    if ((flags >> 31) != 0u) {
                        upper += pl_unsigned(pl_shr(pl_signed(some), 16));
                        whole += some;
                        some = 0x8000u;
                    }
                    flags <<= 1;
                }
                tap++;
            }
            whole -= upper << 16;
            y[2 * p * t->oc] = pl_requantize_s8(&q, pl_signed(whole), w[0]);
            if (((2 * p) + 1) < pixels) {
                y[((2 * p) + 1) * t->oc] = pl_requantize_s8(&q, pl_signed(upper), w[0]);
            }
        }
        w = &w[1];
        y = &y[1];
    }
}

/* The windows of up to four pixels, two pixels in a word: the second one is in the upper half, or 0. */
static inline void pl_pairs_thumb1_s8(const int8_t *patch, int32_t step, int32_t pixels, int32_t k, int32_t taps,
                                      int32_t *to_start)
{
    int32_t *to = to_start;
    const int8_t *a = patch;
    const int8_t *b = (pixels > 1) ? (a + step) : a;
    const int8_t *c = (pixels > 2) ? (b + step) : b;
    const int8_t *d = (pixels > 3) ? (c + step) : c;
    const int32_t second = (pixels > 1) ? 65536 : 0;
    const int32_t fourth = (pixels > 3) ? 65536 : 0;
    int32_t left = k;
    if (pixels > 2) {
        for (; left > 0; left--) {
            to[0] = *a + (*b * 65536);
            to[1] = *c + (*d * fourth);
            a++;
            b++;
            c++;
            d++;
            to = &to[2];
        }
    } else {
        for (; left > 0; left--) {
            to[0] = *a + (*b * second);
            a++;
            b++;
            to = &to[1];
        }
    }
    for (left = (taps - k) * ((pixels > 2) ? 2 : 1); left > 0; left--) {
        *to = 0;
        to = &to[1];
    }
}

/* All filters of one group of channels at some pixels, whose windows are `step` apart. */
static inline void pl_filters_thumb1_s8(const pl_conv_thumb1_t *d, int32_t pixels, int32_t step, const int8_t *patch,
                                        const int32_t *w,
                                        int8_t *y,      // (pixels, oc)
                                        int32_t *pairs) // (taps, 2)
{
    const pl_conv_s8_t *s = &d->s;
    const int32_t k = s->kw * s->kh * s->icg;
    pl_thumb1_conv_t t = {pairs, pairs, w + (s->ocg * d->words), y, s->oc, s->q.zy, s->q.lo, s->q.hi, w};
    for (int32_t p = 0; p < pixels; p += 4) {
        const int32_t taken = ((pixels - p) < 4) ? (pixels - p) : 4;
        pl_pairs_thumb1_s8(patch + (p * step), step, taken, k, d->taps, pairs);
        t.x_end = pairs + (d->taps * ((taken > 2) ? 2 : 1));
        t.y = y + (p * s->oc);
        pl_thumb1_conv_block_s8(d->kind, taken, &t);
    }
}

/* A convolution. w holds the streams of the filters of each group of channels. */
static inline void pl_conv_thumb1_s8(const pl_conv_thumb1_t *d,
                                     const int8_t *x, // (n, ih, iw, ic)
                                     const int32_t *w,
                                     int8_t *y,     // (n, oh, ow, oc)
                                     void *scratch) // pairs and the patch
{
    const pl_conv_s8_t *s = &d->s;
    int32_t *const pairs = (int32_t *)scratch;               // (taps, 2)
    int8_t *const patch = &((int8_t *)scratch)[8 * d->taps]; // (columns, kh, icg)
    for (int32_t i = 0; i < s->n; i++) {
        for (int32_t j = 0; j < s->oh; j++) {
            for (int32_t k = 0; k < s->in_row; k++) {
                pl_group_s8_t g;
                pl_group_s8(s, i, j, k, &g);
                const int8_t *image = x + (g.image * s->ih * s->iw * s->ic);
                int8_t *out = y + (((((g.image * s->oh) + g.row) * s->ow) + g.col) * s->oc);
                for (int32_t c = 0; c < s->groups; c++) {
                    pl_gather_s8(s, &g, image + (c * s->icg), patch);
                    pl_filters_thumb1_s8(d, g.pixels, s->step * s->kh * s->icg, patch, w + (c * s->ocg * d->words),
                                         out + (c * s->ocg), pairs);
                }
            }
        }
    }
}

/* The same for layers of one group: pixels are taken across the ends of rows, each with a window of its own, `in_row`
 * times in an image. */
static inline void pl_line_thumb1_s8(const pl_conv_thumb1_t *d,
                                     const int8_t *x, // (n, ih, iw, ic)
                                     const int32_t *w,
                                     int8_t *y,     // (n, oh, ow, oc)
                                     void *scratch) // pairs and windows
{
    const pl_conv_s8_t *s = &d->s;
    int32_t *const pairs = (int32_t *)scratch;                 // (taps, 2)
    int8_t *const windows = &((int8_t *)scratch)[8 * d->taps]; // (pixels, kw, kh, ic)
    const int32_t k = s->kw * s->kh * s->ic;
    const int32_t count = s->oh * s->ow;
    for (int32_t i = 0; i < s->n; i++) {
        pl_group_s8_t g = {(s->reverse != 0) ? (s->n - 1 - i) : i, 0, 0, 1};
        const int8_t *image = x + (g.image * s->ih * s->iw * s->ic);
        for (int32_t j = 0; j < s->in_row; j++) {
            const int32_t first = ((s->reverse != 0) ? (s->in_row - 1 - j) : j) * s->pixels;
            const int32_t taken = ((count - first) < s->pixels) ? (count - first) : s->pixels;
            g.row = 0;
            g.col = first;
            while (g.col >= s->ow) { // there is no division
                g.col -= s->ow;
                g.row++;
            }
            for (int32_t p = 0; p < taken; p++) {
                pl_gather_s8(s, &g, image, windows + (p * k));
                g.col++;
                if (g.col == s->ow) {
                    g.col = 0;
                    g.row++;
                }
            }
            pl_filters_thumb1_s8(d, taken, k, windows, w, y + (((g.image * count) + first) * s->oc), pairs);
        }
    }
}

#endif
