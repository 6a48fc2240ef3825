#ifndef PL_DEPTHWISE_RV_S8_H
#define PL_DEPTHWISE_RV_S8_H

#include <stdint.h>

#include "depthwise_s8.h"
#include "twice_s8.h"

/* 3x3 depthwise convolution with assembly for 32-bit RISC-V: a channel's weights stay in registers along a row. */
#if !defined(PILOTLIGHT_PORTABLE) && defined(__riscv_mul) && __riscv_xlen == 32 && !defined(__riscv_32e)
#define PL_RV_DEPTHWISE_ASM 1
#else
#define PL_RV_DEPTHWISE_ASM 0
#endif

typedef struct {
    pl_conv_s8_t s;
    int32_t kind; // PL_RV_DEPTHWISE_*: which block
} pl_depthwise_rv_t;

/* All channels of some pixels of a row. A channel's words: nine weights by bytes, (3, 3) and three unused, the sum to
 * start from, the multiplier. Where they are rounded twice, the sum is times 256, plus the bits to the right less one.
 * The assembly knows the order of fields. */
typedef struct {
    const int8_t *x; // (3, columns, ic)
    int32_t row;     // bytes from a row of it to the next
    int32_t ic;
    const int32_t *w;
    const int32_t *w_end;
    int8_t *y;
    int32_t pixels;
    int32_t zy;
    int32_t lo;
    int32_t hi;
} pl_rv_depthwise_t;

/* Written for each model. */
static inline void pl_rv_depthwise_block_s8(int32_t kind, const pl_rv_depthwise_t *t);

static inline void pl_rv_depthwise_twin_s8(const pl_rv_depthwise_t *t, int32_t sw, int32_t shift, int32_t rounding)
{
    const pl_requantize_t q = {t->zy, shift, t->lo, t->hi};
    const int8_t *x = t->x;
    int8_t *y = t->y;
    for (const int32_t *w = t->w; w != t->w_end; w = &w[5]) {
        const int8_t *weights = (const int8_t *)w;
        const int32_t right = (rounding == PL_ONCE) ? 0 : (w[3] & 0xff);
        for (int32_t p = 0; p < t->pixels; p++) {
            int32_t acc = (rounding == PL_ONCE) ? w[3] : pl_shr(w[3], 8);
            for (int32_t r = 0; r < 3; r++) {
                for (int32_t c = 0; c < 3; c++) {
                    acc += x[(r * t->row) + (((p * sw) + c) * t->ic)] * weights[(3 * r) + c];
                }
            }
            y[p * t->ic] = pl_rounded_s8(&q, rounding, acc, w[4], right);
        }
        x++;
        y++;
    }
}

static inline void pl_depthwise_rv_s8(const pl_depthwise_rv_t *d,
                                      const int8_t *x,  // (n, ih, iw, ic)
                                      const int32_t *w, // (ic, 5)
                                      int8_t *y,        // (n, oh, ow, ic)
                                      void *scratch)    // the patch
{
    const pl_conv_s8_t *s = &d->s;
    int8_t *const patch = (int8_t *)scratch; // (3, columns, ic)
    pl_rv_depthwise_t t = {patch, 0, s->ic, w, w + (5 * s->ic), y, 0, s->q.zy, s->q.lo, s->q.hi};
    for (int32_t i = 0; i < s->n; i++) {
        for (int32_t j = 0; j < s->oh; j++) {
            for (int32_t k = 0; k < s->in_row; k++) {
                pl_group_s8_t g;
                pl_group_s8(s, i, j, k, &g);
                pl_gather_channels_s8(s, &g, x + (g.image * s->ih * s->iw * s->ic), patch);
                t.row = (((g.pixels - 1) * s->sw) + 3) * s->ic;
                t.y = y + (((((g.image * s->oh) + g.row) * s->ow) + g.col) * s->ic);
                t.pixels = g.pixels;
                pl_rv_depthwise_block_s8(d->kind, &t);
            }
        }
    }
}

#endif
