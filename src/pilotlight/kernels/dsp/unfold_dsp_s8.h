#ifndef PL_UNFOLD_DSP_S8_H
#define PL_UNFOLD_DSP_S8_H

#include <stdint.h>

#include "integer.h"
#include "winograd_dsp_s8.h"

/* A 3x3 convolution in Winograd's form whose weights are brought into that form here, four filters at a time: flash
 * stays as small as it was, and `tall` rows of tiles share the work. */
typedef struct {
    pl_winograd_dsp_t d; // quad_words: of folded weights
    int32_t kind;        // PL_UNFOLD_*: which block
    int32_t tall;        // rows of tiles
    int32_t turns;       // until the image is done
} pl_unfold_dsp_t;

/* Weights of four filters: (filter, fours of channels, 9 taps, 4), two times the biases and multipliers of two filters;
 * they become a stream. The assembly knows the order of fields. */
typedef struct {
    const int32_t *from;
    int32_t *to;
} pl_dsp_unfold_t;

/* Written for each model. */
static inline void pl_unfold_block_s8(int32_t kind, int32_t filters, const pl_dsp_unfold_t *t);

/* What three weights are at places 1, 2, 0, 3; the last two not doubled. */
static inline int32_t pl_folded16(int32_t a, int32_t b, int32_t c, int32_t place)
{
    const int32_t sum = pl_add16(a, c);
    return (place == 0) ? pl_add16(sum, b) : (place == 1) ? pl_subtract16(sum, b) : (place == 2) ? a : c;
}

/* One filter's weights of four channels, those of one half, at all places. */
static inline void pl_unfold_half_s8(const int8_t *g, int32_t ic, int32_t *to_start)
{
    int32_t *to = to_start;
    for (int32_t place = 0; place < 16; place++) { // column place / 4, row place % 4
        const int32_t c = (place / 4);
        const int32_t a = pl_folded16(pl_pair16(g, 0), pl_pair16(g, 4), pl_pair16(g, 8), c);
        const int32_t b = pl_folded16(pl_pair16(g, 12), pl_pair16(g, 16), pl_pair16(g, 20), c);
        const int32_t d = pl_folded16(pl_pair16(g, 24), pl_pair16(g, 28), pl_pair16(g, 32), c);
        const int32_t word = pl_folded16(a, b, d, place & 3);
        *to = ((place & 2) != 0) ? pl_add16(word, word) : word;
        to = &to[2 * ic];
    }
}

static inline void pl_unfold_twin_s8(const pl_dsp_unfold_t *t, int32_t ic)
{
    const int32_t *from = t->from;
    for (int32_t filter = 0; filter < 4; filter++) {
        for (int32_t k = 0; k < ic; k += 4) {
            pl_unfold_half_s8((const int8_t *)from, ic, t->to + (2 * k) + filter);
            pl_unfold_half_s8((const int8_t *)from + 1, ic, t->to + (2 * k) + 4 + filter);
            from = &from[9];
        }
    }
    pl_copy(t->to + (32 * ic), from, 32);
}

static inline void pl_unfold_dsp_s8(const pl_unfold_dsp_t *d,
                                    const int8_t *x, // (n, ih, iw, ic)
                                    const int32_t *w,
                                    int8_t *y,     // (n, oh, ow, oc)
                                    void *scratch) // u, each v, a stream, and (oc) where the output has odd sizes
{
    const pl_conv_s8_t *s = &d->d.s;
    const int32_t down = pl_signed(pl_unsigned(s->oh + 1) >> 1);
    const int32_t tiles = d->tall * s->in_row;
    const int32_t words = 16 * s->ic;
    pl_dsp_winograd_t t;
    pl_dsp_unfold_t f;
    t.u = (int32_t *)scratch;
    int32_t *const v = t.u + PL_WINOGRAD_SPARE;
    f.to = v + (tiles * words);
    t.w_end = f.to + (2 * words) + 8;
    int8_t *const spare = (int8_t *)(f.to + (2 * words) + 8);
    for (int32_t i = 0; i < s->n; i++) {
        const int32_t image = (s->reverse != 0) ? (s->n - 1 - i) : i;
        const int8_t *from = x + (image * s->ih * s->iw * s->ic);
        int8_t *to = y + (image * s->oh * s->ow * s->oc);
        for (int32_t j = 0; j < d->turns; j++) {
            const int32_t first = ((s->reverse != 0) ? (d->turns - 1 - j) : j) * d->tall;
            const int32_t rows = ((down - first) < d->tall) ? (down - first) : d->tall;
            for (int32_t r = rows - 1; r >= 0; r--) { // from the end: a border's inputs lie before their v
                for (int32_t k = s->in_row - 1; k >= 0; k--) {
                    pl_winograd_inputs_s8(s, 2 * (first + r), 4 * k, from, v + (((r * s->in_row) + k) * words));
                }
            }
            f.from = w;
            for (int32_t q = 0; q < s->oc; q += 4) {
                const int32_t filter = ((q + 4) <= s->oc) ? q : (s->oc - 4);
                pl_unfold_block_s8(d->kind, 4, &f);
                t.v = v;
                for (int32_t r = 0; r < rows; r++) {
                    for (int32_t k = 0; k < s->in_row; k++) {
                        pl_winograd_outputs_s8(s, 2 * (first + r), 4 * k, filter, to, spare, &t);
                        t.w = f.to;
                        pl_winograd_block_s8(d->d.kind, 4, &t);
                        t.v = &t.v[words];
                    }
                }
                f.from = &f.from[d->d.quad_words];
            }
        }
    }
}

#endif
