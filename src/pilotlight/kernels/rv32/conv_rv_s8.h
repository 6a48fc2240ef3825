#ifndef PL_CONV_RV_S8_H
#define PL_CONV_RV_S8_H

#include <stddef.h>
#include <stdint.h>

#include "conv_s8.h"
#include "integer.h"
#include "twice_s8.h"

/* int8 convolution with blocks in assembly for 32-bit RISC-V with multiplication: up to four pixels by four filters,
 * whose sums are all in registers. With PILOTLIGHT_PORTABLE, and elsewhere, their C twin computes the same bytes. */
#if !defined(PILOTLIGHT_PORTABLE) && defined(__riscv_mul) && __riscv_xlen == 32 && !defined(__riscv_32e)
#define PL_RV_ASM 1
#else
#define PL_RV_ASM 0
#endif

typedef struct {
    pl_conv_s8_t s;
    int32_t kind;    // PL_RV_CONV_*: which blocks
    int32_t taps;    // of a window, whole turns of the block's loop; those past its end have zero weights
    int32_t words;   // of a block's stream
    int32_t at_once; // pixels of the widest block
    int32_t step;    // bytes of the patch from a pixel's window to the next
} pl_conv_rv_t;

/* Blocks of four filters at a group of pixels. The stream of a block: four sums to start from, `taps` times four
 * weights, four multipliers. Where they are rounded twice, the sums are times 256, plus the bits to the right less one.
 * The assembly knows the order of fields. */
typedef struct {
    const int8_t *x;     // window of the first pixel
    int32_t step;        // bytes to the next pixel's
    const int8_t *x_end; // where x is after all taps
    const int32_t *w;
    const int32_t *w_end;
    int8_t *y;
    int32_t oc; // from a pixel's outputs to the next pixel's
    int32_t zy;
    int32_t lo;
    int32_t hi;
} pl_rv_conv_t;

/* Calls the block of `pixels` pixels; written for each model. */
static inline void pl_rv_conv_block_s8(int32_t kind, int32_t pixels, const pl_rv_conv_t *t);

static inline void pl_rv_conv_twin_s8(const pl_rv_conv_t *t, int32_t pixels, int32_t shift, int32_t rounding)
{
    const pl_requantize_t q = {t->zy, shift, t->lo, t->hi};
    const ptrdiff_t bytes = t->x_end - t->x;
    const int32_t taps = (int32_t)bytes;
    int8_t *y = t->y;
    for (const int32_t *w = t->w; w != t->w_end; w = &w[8 + taps]) {
        for (int32_t p = 0; p < pixels; p++) {
            const int8_t *weights = (const int8_t *)(w + 4);
            int32_t acc[4]; // (filters)
            for (int32_t f = 0; f < 4; f++) {
                const int32_t right = (rounding == PL_ONCE) ? 0 : (w[f] & 0xff);
                acc[f] = (rounding == PL_ONCE) ? w[f] : pl_shr(w[f], 8);
                for (int32_t i = 0; i < taps; i++) {
                    acc[f] += t->x[(p * t->step) + i] * weights[(4 * i) + f];
                }
                y[(p * t->oc) + f] = pl_rounded_s8(&q, rounding, acc[f], w[4 + taps + f], right);
            }
        }
        y = &y[4];
    }
}

/* The same with the weights of two filters in a word, 65536 a + b, so that a product has both. The stream of a block:
 * for each two filters the sum of the first to start from, and the sum of whole words; for every turn of `unroll` taps
 * a word of flags and the weights; four multipliers. The uppermost flag belongs to the first two taps, the next to the
 * next two: it is set where both halves are added up and begin again, in time before the lower one, which begins with
 * 32768, leaves its 16 bits. Where they are rounded twice, four words before that are the bits to the right less one. */
static inline void pl_rv_pairs_twin_s8(const pl_rv_conv_t *t, int32_t pixels, int32_t unroll, int32_t shift,
                                       int32_t rounding)
{
    const pl_requantize_t q = {t->zy, shift, t->lo, t->hi};
    const int32_t before = (rounding == PL_ONCE) ? 0 : 4;
    int8_t *y = t->y;
    const int32_t *w = t->w;
    while (w != t->w_end) {
        const int32_t *m = w; // where the multipliers are
        for (int32_t p = 0; p < pixels; p++) {
            for (int32_t half = 0; half < 2; half++) { // the first or the last two filters
                const int32_t f = 2 * half;
                uint32_t upper = pl_unsigned(w[before + f]);
                uint32_t whole = pl_unsigned(w[before + f + 1]);
                uint32_t some = 0x8000u;
                m = &w[before + 4];
                for (const int8_t *x = t->x; x != t->x_end; x = &x[unroll]) {
                    uint32_t flags = pl_unsigned(m[0]);
                    for (int32_t i = 0; i < unroll; i++) {
                        some += pl_unsigned(x[(p * t->step) + i]) * pl_unsigned(m[1 + (2 * i) + half]);
                        if ((i & 1) != 0) {
                            if ((flags >> 31) != 0u) {
                                upper += pl_unsigned(pl_shr(pl_signed(some), 16));
                                whole += some;
                                some = 0x8000u;
                            }
                            flags <<= 1;
                        }
                    }
                    m = &m[1 + (2 * unroll)];
                }
                whole -= upper << 16;
                const int32_t right0 = (rounding == PL_ONCE) ? 0 : w[f];
                const int32_t right1 = (rounding == PL_ONCE) ? 0 : w[f + 1];
                int8_t *out = &y[(p * t->oc) + f];
                out[0] = pl_rounded_s8(&q, rounding, pl_signed(upper), m[f], right0);
                out[1] = pl_rounded_s8(&q, rounding, pl_signed(whole), m[f + 1], right1);
            }
        }
        w = &m[4];
        y = &y[4];
    }
}

/* All filters of one group of channels at one group of pixels; what is left of them goes through spare memory. */
static inline void pl_filters_rv_s8(const pl_conv_rv_t *d, int32_t pixels_start, const int8_t *patch_start,
                                    const int32_t *w, int8_t *y_start)
{
    int32_t pixels = pixels_start;
    const int8_t *patch = patch_start;
    int8_t *y = y_start;
    const pl_conv_s8_t *s = &d->s;
    const int32_t whole = s->ocg & ~3;
    const int32_t words = d->words;
    pl_rv_conv_t t;
    t.step = d->step;
    t.zy = s->q.zy;
    t.lo = s->q.lo;
    t.hi = s->q.hi;
    while (pixels > 0) {
        const int32_t taken = (pixels < d->at_once) ? pixels : d->at_once;
        t.x = patch;
        t.x_end = patch + d->taps;
        t.w = w;
        t.w_end = w + (pl_signed((uint32_t)whole >> 2) * words);
        t.y = y;
        t.oc = s->oc;
        if (whole > 0) {
            pl_rv_conv_block_s8(d->kind, taken, &t);
        }
        if (s->ocg > whole) {
            int8_t spare[16]; // (pixels, 4)
            pl_zero(spare, 16);
            t.w = t.w_end;
            t.w_end = &t.w_end[words];
            t.y = spare;
            t.oc = 4;
            pl_rv_conv_block_s8(d->kind, taken, &t);
            for (int32_t p = 0; p < taken; p++) {
                for (int32_t f = whole; f < s->ocg; f++) {
                    y[(p * s->oc) + f] = spare[(4 * p) + f - whole];
                }
            }
        }
        pixels -= taken;
        patch = &patch[taken * t.step];
        y = &y[taken * s->oc];
    }
}

/* A convolution. w holds the streams of the blocks of each group of channels. */
static inline void pl_conv_rv_s8(const pl_conv_rv_t *d,
                                 const int8_t *x, // (n, ih, iw, ic)
                                 const int32_t *w,
                                 int8_t *y,     // (n, oh, ow, oc)
                                 void *scratch) // the patch
{
    const pl_conv_s8_t *s = &d->s;
    const int32_t words = pl_signed(pl_unsigned(s->ocg + 3) >> 2) * d->words;
    int8_t *const patch = (int8_t *)scratch; // (columns, kh, icg)
    for (int32_t i = 0; i < s->n; i++) {
        for (int32_t j = 0; j < s->oh; j++) {
            for (int32_t k = 0; k < s->in_row; k++) {
                pl_group_s8_t g;
                pl_group_s8(s, i, j, k, &g);
                const int8_t *image = x + (g.image * s->ih * s->iw * s->ic);
                int8_t *out = y + (((((g.image * s->oh) + g.row) * s->ow) + g.col) * s->oc);
                for (int32_t c = 0; c < s->groups; c++) {
                    pl_gather_s8(s, &g, image + (c * s->icg), patch);
                    pl_filters_rv_s8(d, g.pixels, patch, w + (c * words), out + (c * s->ocg));
                }
            }
        }
    }
}

/* One row of inputs to outputs, read where they are: no patch. */
static inline void pl_row_rv_s8(const pl_conv_rv_t *d,
                                const int8_t *x, // (taps)
                                const int32_t *w,
                                int8_t *y) // (oc)
{
    pl_filters_rv_s8(d, 1, x, w, y);
}

#endif
