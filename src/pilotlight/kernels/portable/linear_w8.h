#ifndef PL_LINEAR_W8_H
#define PL_LINEAR_W8_H

#include <stdbool.h>

#include "fixed_row_f32.h"
#include "integer.h"
#include "mac_f32.h"
#include "q_clamp.h"

/* Linear layers with float inputs and int8 weights, one scale for each output.
 *
 * A row of inputs becomes integers of 29 bits with one exponent, products are summed exactly, and
 * y = sum * scale + bias is rounded after each of the three: the same bits on every core. A row with infinity
 * or NaN is summed in float, in order. An integer is 2^15 high + low, both of 16 bits, so that 32 bits hold
 * PL_PART_W8 products. Weights are (o / 2, i / 2) words of 2 inputs by 2 outputs, zeros after both. */
typedef struct {
    int32_t n; // rows, inputs, outputs
    int32_t i;
    int32_t o;
    int32_t width;   // i rounded up to a multiple of 4
    int32_t reverse; // 1: from the last row to the first
    int32_t act;     // PL_ACT_*
    float lo;        // limits of outputs
    float hi;
} pl_linear_w8_t;

enum { PL_BITS_W8 = 29, PL_PART_W8 = 256 };

/* Weight k of output r. */
static inline int32_t pl_weight_w8(const int8_t *w, int32_t width, int32_t r, int32_t k)
{
    return w[(((pl_shr(r, 1) * width) + (k & ~1)) * 2) + ((k & 1) * 2) + (r & 1)];
}

/* Four inputs, x (2, high 2 and low 2), times two outputs' weights; x and w move on. Written out, because compilers
 * leave such loops alone at -O2. */
#if !defined(PILOTLIGHT_PORTABLE) && defined(__GNUC__) && defined(__thumb2__) && defined(__ARM_FEATURE_DSP)
typedef int32_t __attribute__((__may_alias__)) pl_pair_w8;
#define PL_LOAD_W8(first, second, from)                                                                                \
    __asm__("ldrd %0, %1, [%2], #8"                                                                                    \
            : "=r"(first), "=r"(second), "+r"(from)                                                                    \
            : "m"(((const pl_pair_w8 *)(const void *)from)[0]), "m"(((const pl_pair_w8 *)(const void *)from)[1]))
#define PL_SMLAD_W8(sum, of, v) __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(of), "r"(v))
#define PL_TWO_W8(word)                                                                                                \
    do {                                                                                                               \
        int32_t high;                                                                                                  \
        int32_t low;                                                                                                   \
        int32_t own;                                                                                                   \
        PL_LOAD_W8(high, low, x);                                                                                      \
        __asm__("sxtb16 %0, %1" : "=r"(own) : "r"(word));                                                              \
        PL_SMLAD_W8(a, high, own);                                                                                     \
        PL_SMLAD_W8(c, low, own);                                                                                      \
        __asm__("sxtb16 %0, %1, ror #8" : "=r"(own) : "r"(word));                                                      \
        PL_SMLAD_W8(b, high, own);                                                                                     \
        PL_SMLAD_W8(d, low, own);                                                                                      \
    } while (0)
#define PL_FOUR_W8                                                                                                     \
    do {                                                                                                               \
        int32_t first;                                                                                                 \
        int32_t second;                                                                                                \
        PL_LOAD_W8(first, second, w);                                                                                  \
        PL_TWO_W8(first);                                                                                              \
        PL_TWO_W8(second);                                                                                             \
    } while (0)
#else
#define PL_ONE_W8(j, k)                                                                                                \
    do {                                                                                                               \
        const int32_t high = x[(4 * (j)) + (k)];                                                                       \
        const int32_t low = x[(4 * (j)) + 2 + (k)];                                                                    \
        const int32_t p = w[(4 * (j)) + (2 * (k))];                                                                    \
        const int32_t q = w[(4 * (j)) + (2 * (k)) + 1];                                                                \
        a += high * p;                                                                                                 \
        c += low * p;                                                                                                  \
        b += high * q;                                                                                                 \
        d += low * q;                                                                                                  \
    } while (0)
#define PL_FOUR_W8                                                                                                     \
    do {                                                                                                               \
        PL_ONE_W8(0, 0);                                                                                               \
        PL_ONE_W8(0, 1);                                                                                               \
        PL_ONE_W8(1, 0);                                                                                               \
        PL_ONE_W8(1, 1);                                                                                               \
        x += 8;                                                                                                        \
        w += 8;                                                                                                        \
    } while (0)
#endif

/* Adds n inputs, a multiple of 4 and not 0, to the sums of two outputs: x (n / 2, 4), w (n / 2, 4). a and b sum the
 * high halves, c and d the low ones. */
PL_Q_APART void pl_two_w8(const int16_t *x_start, const int8_t *w_start, int32_t n, int64_t *sum)
{
    const int16_t *x = x_start;
    const int8_t *w = w_start;
    int32_t a = 0;
    int32_t b = 0;
    int32_t c = 0;
    int32_t d = 0;
    const int16_t *const end = x + (2 * n);
    do {
        PL_FOUR_W8;
    } while (x != end);
    sum[0] += ((int64_t)a * 32768) + c;
    sum[1] += ((int64_t)b * 32768) + d;
}

/* One output in float: q (i) is a copy of the row. */
PL_Q_APART float pl_float_w8(const pl_linear_w8_t *s, const float *q, const int8_t *w, int32_t r, float scale)
{
    float sum = 0.0f;
    for (int32_t k = 0; k < s->i; k++) {
        sum += q[k] * ((float)pl_weight_w8(w, s->width, r, k) * scale);
    }
    return sum;
}

/* A row as halves: q (width / 2, 4). */
static inline void pl_row_w8(const pl_linear_w8_t *s, const float *x, int32_t e, int16_t *q)
{
    pl_zero(q + (2 * (s->width - 4)), 16);
    for (int32_t k = 0; k < s->i; k++) {
        const int32_t v = pl_fixed(x[k], e, PL_BITS_W8);
        int16_t *const to = q + (4 * pl_shr(k, 1)) + (k & 1);
        to[0] = (int16_t)pl_shr(v, 15);
        to[2] = (int16_t)(v & 0x7fff);
    }
}

/* All rows; q (width) is scratch. A row is read before its outputs are written. */
static inline void pl_linear_w8(const pl_linear_w8_t *s,
                                const float *x, // (n, i)
                                const int8_t *w, const float *scale, const float *bias,
                                float *y, // (n, o)
                                float *q)
{
    const bool relu = (s->act == PL_ACT_RELU) || (s->act == PL_ACT_LIMIT);
    for (int32_t done = 0; done < s->n; done++) {
        const int32_t row = (s->reverse != 0) ? (s->n - 1 - done) : done;
        const float *from = x + (row * s->i);
        float *to = y + (row * s->o);
        const int32_t e = pl_fixed_exponent(from, s->i);
        if (e == PL_FIXED_NONE) {
            pl_copy(q, from, s->i * 4);
            for (int32_t r = 0; r < s->o; r++) {
                to[r] = pl_fixed_output(pl_float_w8(s, q, w, r, scale[r]), bias[r], relu);
            }
        } else {
            int16_t *const halves = (int16_t *)(void *)q;
            pl_row_w8(s, from, e, halves);
            for (int32_t r = 0; r < s->o; r += 2) {
                int64_t sum[2]; // (outputs)
                pl_fixed_clear(sum, 2);
                for (int32_t k = 0; k < s->width; k += PL_PART_W8) {
                    const int32_t n = ((s->width - k) < PL_PART_W8) ? (s->width - k) : PL_PART_W8;
                    pl_two_w8(halves + (2 * k), w + (r * s->width) + (2 * k), n, sum);
                }
                for (int32_t f = 0; (f < 2) && ((r + f) < s->o); f++) {
                    to[r + f] =
                        pl_fixed_output(pl_fixed_float(sum[f], e - 126 - PL_BITS_W8) * scale[r + f], bias[r + f], relu);
                }
            }
        }
    }
    pl_limit_f32(s->act, s->lo, s->hi, y, s->n * s->o);
}

#endif
