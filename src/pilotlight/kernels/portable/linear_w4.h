#ifndef PL_LINEAR_W4_H
#define PL_LINEAR_W4_H

#include <stdbool.h>

#include "fixed_row_f32.h"
#include "integer.h"
#include "mac_f32.h"
#include "q_clamp.h"

/* Linear layers with float inputs and int4 weights; a group of inputs shares a scale for each output, which is an
 * integer of 16 bits, its step, times the output's own scale.
 *
 * Each chunk of inputs becomes integers with one exponent, its products are summed in 32 bits, and the sums, times
 * step and the exponent's distance from the lowest in use, in 64: all exact. y = sum * scale + bias is rounded after
 * each of the three: the same bits on every core. A row with infinity or NaN is summed in float, in order.
 * Weights are (o / 4, i / 2) words of 2 inputs by 4 outputs, zeros after both. Steps are (o / 4, groups, 4). */
typedef struct {
    int32_t n; // rows, inputs, outputs
    int32_t i;
    int32_t o;
    int32_t width; // i rounded up to a multiple of 8
    int32_t chunk; // inputs in a chunk (a multiple of 8), chunks in a group
    int32_t per;
    int32_t groups;
    int32_t bits; // of an integer input; between the highest and the lowest exponent in use
    int32_t room;
    int32_t reverse; // 1: from the last row to the first
    int32_t act;     // PL_ACT_*
    float lo;        // limits of outputs
    float hi;
} pl_linear_w4_t;

/* Number j of a word of eight. */
static inline int32_t pl_nibble(uint32_t word, int32_t j)
{
    return pl_shr(pl_signed(word << pl_unsigned(28 - (4 * j))), 28);
}

/* Weight k of output r, times its step. */
static inline int32_t pl_weight_w4(const pl_linear_w4_t *s, const uint32_t *w, const uint16_t *step, int32_t r,
                                   int32_t k)
{
    const int32_t group = k / (s->per * s->chunk);
    const uint32_t word = w[pl_shr((pl_shr(r, 2) * s->width) + k, 1)];
    return pl_nibble(word, ((k & 1) * 4) + (r & 3))
           * (int32_t)step[(((pl_shr(r, 2) * s->groups) + group) * 4) + (r & 3)];
}

/* Inputs 2j and 2j + 1 of four outputs; written out, because compilers leave such loops alone at -O2. */
#define PL_TWO_W4(j)                                                                                                   \
    do {                                                                                                               \
        const uint32_t v = w[j];                                                                                       \
        const int32_t p = x[2 * (j)];                                                                                  \
        const int32_t q = x[(2 * (j)) + 1];                                                                            \
        a += p * pl_nibble(v, 0);                                                                                      \
        b += p * pl_nibble(v, 1);                                                                                      \
        c += p * pl_nibble(v, 2);                                                                                      \
        d += p * pl_nibble(v, 3);                                                                                      \
        a += q * pl_nibble(v, 4);                                                                                      \
        b += q * pl_nibble(v, 5);                                                                                      \
        c += q * pl_nibble(v, 6);                                                                                      \
        d += q * pl_nibble(v, 7);                                                                                      \
    } while (0)

/* Adds a chunk to the sums of four outputs: x (n), w (n / 2) words, n a multiple of 4 and not 0, step (4). */
PL_Q_APART void pl_four_w4(const int32_t *x_start, const uint32_t *w_start, int32_t n, const uint16_t *step,
                           int32_t shift, int64_t *sum)
{
    const int32_t *x = x_start;
    const uint32_t *w = w_start;
    int32_t a = 0;
    int32_t b = 0;
    int32_t c = 0;
    int32_t d = 0;
    const int32_t *const end = x + n;
    do {
        PL_TWO_W4(0);
        PL_TWO_W4(1);
        x = &x[4];
        w = &w[2];
    } while (x != end);
    sum[0] += (int64_t)a * pl_signed((uint32_t)step[0] << (uint32_t)shift);
    sum[1] += (int64_t)b * pl_signed((uint32_t)step[1] << (uint32_t)shift);
    sum[2] += (int64_t)c * pl_signed((uint32_t)step[2] << (uint32_t)shift);
    sum[3] += (int64_t)d * pl_signed((uint32_t)step[3] << (uint32_t)shift);
}

/* Four outputs over a row: q (width) integers and, after them, a shift for each chunk. */
static inline void pl_sums_w4(const pl_linear_w4_t *s, const int32_t *q, const uint32_t *w, const uint16_t *step_start,
                              int64_t *sum)
{
    const uint16_t *step = step_start;
    const int32_t *shift = q + s->width;
    int32_t left = s->per;
    for (int32_t k = 0; k < s->width; k += s->chunk) {
        pl_four_w4(q + k, w + pl_shr(k, 1), ((s->width - k) < s->chunk) ? (s->width - k) : s->chunk, step, *shift, sum);
        shift++;
        left--;
        if (left == 0) {
            left = s->per;
            step = &step[4];
        }
    }
}

/* A row with the highest exponent e as integers q (width), zeros after the inputs, and a shift for each chunk. */
static inline void pl_row_w4(const pl_linear_w4_t *s, const float *x, int32_t e, int32_t *q)
{
    const int32_t lowest = e - s->room;
    int32_t *shift = q + s->width;
    pl_zero(q + s->i, (s->width - s->i) * 4);
    for (int32_t k = 0; k < s->i; k += s->chunk) {
        const int32_t n = ((s->i - k) < s->chunk) ? (s->i - k) : s->chunk;
        const int32_t own = pl_fixed_exponent(x + k, n);
        const int32_t used = (own > lowest) ? own : lowest;
        for (int32_t j = k; j < (k + n); j++) {
            q[j] = pl_fixed(x[j], used, s->bits);
        }
        *shift = used - lowest;
        shift++;
    }
}

/* One output in float: q (i) is a copy of the row. */
PL_Q_APART float pl_float_w4(const pl_linear_w4_t *s, const float *q, const uint32_t *w, const uint16_t *step,
                             int32_t r, float scale)
{
    float sum = 0.0f;
    for (int32_t k = 0; k < s->i; k++) {
        sum += q[k] * ((float)pl_weight_w4(s, w, step, r, k) * scale);
    }
    return sum;
}

/* All rows; q (width + chunks) is scratch. A row is read before its outputs are written. */
static inline void pl_linear_w4(const pl_linear_w4_t *s,
                                const float *x, // (n, i)
                                const uint32_t *w, const uint16_t *step, const float *scale, const float *bias,
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
                to[r] = pl_fixed_output(pl_float_w4(s, q, w, step, r, scale[r]), bias[r], relu);
            }
        } else {
            const int32_t power = e - s->room - 126 - s->bits;
            pl_row_w4(s, from, e, (int32_t *)(void *)q);
            for (int32_t r = 0; r < s->o; r += 4) {
                int64_t sum[4]; // (outputs)
                pl_fixed_clear(sum, 4);
                pl_sums_w4(s, (const int32_t *)(const void *)q, w + pl_shr(r * s->width, 3), step + (r * s->groups),
                           sum);
                for (int32_t f = 0; (f < 4) && ((r + f) < s->o); f++) {
                    to[r + f] = pl_fixed_output(pl_fixed_float(sum[f], power) * scale[r + f], bias[r + f], relu);
                }
            }
        }
    }
    pl_limit_f32(s->act, s->lo, s->hi, y, s->n * s->o);
}

#endif
