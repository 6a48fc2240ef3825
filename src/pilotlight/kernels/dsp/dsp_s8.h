#ifndef PL_DSP_S8_H
#define PL_DSP_S8_H

#include <stdint.h>

#include "twice_s8.h"

/* The int8 blocks for cores with the DSP extension (Cortex-M4, M7, M33): two 16-bit products added in one instruction.
 * With PILOTLIGHT_PORTABLE, and on cores without the extension, their C twins below compute the same bytes.
 *
 * A word of packed weights holds two taps of two filters, a and b: each half is 256 a + b, as one number of 16 bits.
 * One product sum with the halves as they are gives 256 A + B, one with their low bytes sign-extended gives B; A is
 * their difference, divided exactly. It needs |A| < 2^23, which the generator proves from the weights; a layer where
 * that fails has wide weights, 16 bits each. */
#if !defined(PILOTLIGHT_PORTABLE) && defined(__thumb2__) && defined(__ARM_FEATURE_DSP)
#define PL_DSP_ASM 1
#else
#define PL_DSP_ASM 0
#endif

/* Pairs of filters at up to three pixels. The stream of a pair: two sums to start from, `steps` times four taps (two
 * words packed, four wide), two multipliers; where they are rounded twice, around these the bits to the right less one
 * of the first and of the second. The assembly knows the order of fields. */
typedef struct {
    const int16_t *x;     // window of the middle one of three pixels, else of the first
    int32_t steps;        // of four taps
    const int16_t *x_end; // where x is after them
    const int32_t *w;     // stream of the first pair
    const int32_t *w_end; // end of the last pair's
    int8_t *y;            // first filter's output at the first pixel
    int32_t zy;
    int32_t y_pixel; // from a pixel's outputs to the next pixel's
    int32_t lo;
    int32_t hi;
} pl_dsp_conv_t;

/* Eight or two filters at a time over one row of inputs. The stream of a block: sums to start from, for four inputs
 * the two words of each pair, multipliers. */
typedef struct {
    const int8_t *x;
    int32_t steps;
    const int8_t *x_end;
    const int32_t *w;
    const int32_t *w_end;
    int8_t *y;
    int32_t zy;
    int32_t lo;
    int32_t hi;
} pl_dsp_row_t;

/* The low and the high half of a word. */
static inline int32_t pl_low16(int32_t v) { return (int16_t)(uint16_t)((uint32_t)v & 0xffffu); }

static inline int32_t pl_high16(int32_t v) { return pl_low16((int32_t)((uint32_t)v >> 16)); }

/* The two filters' weights of one tap, from 256 a + b. */
static inline int32_t pl_weight_b(int32_t half) { return (int8_t)(uint8_t)((uint32_t)half & 0xffu); }

static inline int32_t pl_weight_a(int32_t half) { return (half - pl_weight_b(half)) / 256; }

/* What a pair starts from: packed, the first is 256 A + B. */
static inline int32_t pl_start_a(const int32_t *w, int32_t wide) { return (wide != 0) ? w[0] : ((w[0] - w[1]) / 256); }

static inline void pl_conv_twin_s8(const pl_dsp_conv_t *t, int32_t pixels, int32_t stride, int32_t wide, int32_t shift,
                                   int32_t rounding)
{
    const pl_requantize_t q = {t->zy, shift, t->lo, t->hi};
    const int16_t *x = (pixels == 3) ? (t->x - stride) : t->x;
    const int32_t words = ((rounding == PL_ONCE) ? 4 : 6) + (t->steps * ((wide != 0) ? 4 : 2));
    int8_t *y = t->y;
    for (const int32_t *w = t->w; w != t->w_end; w = &w[words]) {
        const int32_t *m = w + words - ((rounding == PL_ONCE) ? 2 : 3);
        for (int32_t p = 0; p < pixels; p++) {
            const int16_t *at = x + (p * stride);
            const int32_t *v = w + 2;
            int32_t a = pl_start_a(w, wide);
            int32_t b = w[1];
            for (int32_t i = 0; i < (2 * t->steps); i++) {
                if (wide != 0) {
                    a += (at[0] * pl_low16(v[0])) + (at[1] * pl_high16(v[0]));
                    b += (at[0] * pl_low16(v[1])) + (at[1] * pl_high16(v[1]));
                    v = &v[2];
                } else {
                    a += (at[0] * pl_weight_a(pl_low16(*v))) + (at[1] * pl_weight_a(pl_high16(*v)));
                    b += (at[0] * pl_weight_b(pl_low16(*v))) + (at[1] * pl_weight_b(pl_high16(*v)));
                    v++;
                }
                at = &at[2];
            }
            y[p * t->y_pixel] = pl_rounded_s8(&q, rounding, a, m[0], (rounding == PL_ONCE) ? 0 : m[-1]);
            y[(p * t->y_pixel) + 1] = pl_rounded_s8(&q, rounding, b, m[1], (rounding == PL_ONCE) ? 0 : m[2]);
        }
        y = &y[2];
    }
}

static inline void pl_row_twin_s8(const pl_dsp_row_t *t, int32_t filters, int32_t shift, int32_t rounding, int32_t down)
{
    const int32_t right = (rounding == PL_ONCE) ? 0 : (down - 1); // zy is already shifted by it
    const pl_requantize_t q = {pl_shr_by(t->zy, right), shift, t->lo, t->hi};
    const int32_t words = (2 + t->steps) * filters;
    int8_t *y = t->y;
    for (const int32_t *w = t->w; w != t->w_end; w = &w[words]) {
        for (int32_t f = 0; f < filters; f += 2) {
            const int32_t *v = w + filters + f;
            int32_t a = pl_start_a(w + f, 0);
            int32_t b = w[f + 1];
            for (const int8_t *x = t->x; x != t->x_end; x = &x[4]) {
                a += (x[0] * pl_weight_a(pl_low16(v[0]))) + (x[2] * pl_weight_a(pl_high16(v[0])));
                a += (x[1] * pl_weight_a(pl_low16(v[1]))) + (x[3] * pl_weight_a(pl_high16(v[1])));
                b += (x[0] * pl_weight_b(pl_low16(v[0]))) + (x[2] * pl_weight_b(pl_high16(v[0])));
                b += (x[1] * pl_weight_b(pl_low16(v[1]))) + (x[3] * pl_weight_b(pl_high16(v[1])));
                v = &v[filters];
            }
            *y = pl_rounded_s8(&q, rounding, a, w[words - filters + f], right);
            y++;
            *y = pl_rounded_s8(&q, rounding, b, w[words - filters + f + 1], right);
            y++;
        }
    }
}

/* Four inputs at a time as 16-bit numbers, in the order 0, 2, 1, 3. */
static inline void pl_widen_twin_s8(const int8_t *x_start, int16_t *y_start, int32_t n)
{
    const int8_t *x = x_start;
    int16_t *y = y_start;
    for (int32_t left = n; left > 0; left -= 4) {
        y[0] = x[0];
        y[1] = x[2];
        y[2] = x[1];
        y[3] = x[3];
        x = &x[4];
        y = &y[4];
    }
}

#endif
