#ifndef PL_LINEAR_W4_H
#define PL_LINEAR_W4_H

#include "fixed_row_f32.h"
#include "mac_f32.h"

/* Linear layers with float inputs and int4 weights; a group of inputs shares a scale for each output, which is an
 * integer of 16 bits, its step, times the output's own scale.
 *
 * Each chunk of inputs becomes integers with one exponent, its products are summed in 32 bits, and the sums, times
 * step and the exponent's distance from the lowest in use, in 64: all exact. y = sum * unit * scale + bias is rounded
 * after each of these: the same bits on every core. A row with infinity or NaN is summed in float, in order.
 * Weights are packed by words of eight: (o / 4, i / 2) words of (2, 4), what is left of the outputs (rest, i / 8) words
 * of 8; i is a multiple of 8 with zeros behind the inputs. Steps are (o / 4, groups, 4), then (rest, groups). */
typedef struct {
    int32_t n, i, o;    // rows, inputs, outputs
    int32_t width;      // i rounded up to a multiple of 8
    int32_t chunk, per; // inputs in a chunk (a multiple of 8), chunks in a group
    int32_t groups;
    int32_t bits, room; // of an integer input; between the highest and the lowest exponent in use
    int32_t reverse;    // 1: from the last row to the first
    int32_t act;        // PL_ACT_*
    float lo, hi;       // limits of outputs
} pl_linear_w4_t;

/* Number j of a word of eight. */
static inline int32_t pl_nibble(uint32_t word, int32_t j)
{
    return (int32_t)(word << (28 - 4 * j)) >> 28;
}

/* Weight k of output r, times its step. */
static inline int32_t pl_weight_w4(const pl_linear_w4_t *s, const uint32_t *w, const uint16_t *step, int32_t r, int32_t k)
{
    const int32_t at = s->per * s->chunk > 0 ? k / (s->per * s->chunk) : 0;
    if (r < (s->o & ~3)) {
        const int32_t q = pl_nibble(w[(r >> 2) * (s->width >> 1) + (k >> 1)], (k & 1) * 4 + (r & 3));
        return q * step[((r >> 2) * s->groups + at) * 4 + (r & 3)];
    }
    return pl_nibble(w[r * (s->width >> 3) + (k >> 3)], k & 7) * step[r * s->groups + at];
}

/* Four outputs over a chunk: x (n), w (n / 2) words -> sum (4). */
static inline void pl_four_w4(const int32_t *x, const uint32_t *w, int32_t n, int32_t *sum)
{
    int32_t a = 0, b = 0, c = 0, d = 0;
    for (; n > 0; n -= 4, x += 4, w += 2) {
        for (int32_t j = 0; j < 2; j++) {
            const uint32_t v = w[j];
            const int32_t p = x[2 * j], q = x[2 * j + 1];
            a += p * pl_nibble(v, 0);
            b += p * pl_nibble(v, 1);
            c += p * pl_nibble(v, 2);
            d += p * pl_nibble(v, 3);
            a += q * pl_nibble(v, 4);
            b += q * pl_nibble(v, 5);
            c += q * pl_nibble(v, 6);
            d += q * pl_nibble(v, 7);
        }
    }
    sum[0] = a;
    sum[1] = b;
    sum[2] = c;
    sum[3] = d;
}

/* One output over a chunk: x (n), w (n / 8) words. */
static inline int32_t pl_one_w4(const int32_t *x, const uint32_t *w, int32_t n)
{
    int32_t sum = 0;
    for (; n > 0; n -= 8, x += 8, w++) {
        for (int32_t j = 0; j < 8; j++) {
            sum += x[j] * pl_nibble(*w, j);
        }
    }
    return sum;
}

/* `outputs` (4 or 1) outputs over a row: q (width) integers and, behind them, a shift for each chunk. */
static inline void pl_outputs_w4(const pl_linear_w4_t *s, const int32_t *q, const uint32_t *w, const uint16_t *step,
                                 int32_t outputs, int64_t *sum)
{
    const int32_t *shift = q + s->width;
    int32_t left = s->per;
    for (int32_t f = 0; f < outputs; f++) {
        sum[f] = 0;
    }
    for (int32_t k = 0; k < s->width; k += s->chunk) {
        const int32_t n = s->width - k < s->chunk ? s->width - k : s->chunk;
        int32_t part[4]; // (outputs)
        if (outputs == 4) {
            pl_four_w4(q + k, w + (k >> 1), n, part);
        } else {
            part[0] = pl_one_w4(q + k, w + (k >> 3), n);
        }
        for (int32_t f = 0; f < outputs; f++) {
            sum[f] += (int64_t)part[f] * (int32_t)((uint32_t)step[f] << *shift);
        }
        shift++;
        if (--left == 0) {
            left = s->per;
            step += outputs;
        }
    }
}

/* A row as integers q (width), zeros behind the inputs, and a shift for each chunk; returns the unit's exponent, or
 * PL_FIXED_NONE where the row is not finite, which q then holds as it is. */
static inline int32_t pl_row_w4(const pl_linear_w4_t *s, const float *x, int32_t *q)
{
    const int32_t e = pl_fixed_exponent(x, s->i);
    const int32_t lowest = e - s->room;
    int32_t *shift = q + s->width;
    if (e == PL_FIXED_NONE) {
        pl_copy(q, x, s->i * 4);
        return e;
    }
    pl_zero(q + s->i, (s->width - s->i) * 4);
    for (int32_t k = 0; k < s->width; k += s->chunk) {
        const int32_t n = s->i - k < s->chunk ? s->i - k : s->chunk;
        const int32_t own = pl_fixed_exponent(x + k, n);
        const int32_t used = own > lowest ? own : lowest;
        pl_fixed_row(x + k, n, used, s->bits, q + k);
        *shift++ = used - lowest;
    }
    return lowest - 126 - s->bits;
}

/* All rows; q (width + chunks) is scratch. A row is read before its outputs are written. */
static inline void pl_linear_w4(const pl_linear_w4_t *s,
                                const float *x, // (n, i)
                                const uint32_t *w, const uint16_t *step, const float *scale, const float *bias,
                                float *y, // (n, o)
                                int32_t *q)
{
    const int32_t relu = s->act == PL_ACT_RELU || s->act == PL_ACT_LIMIT;
    for (int32_t done = 0; done < s->n; done++) {
        const int32_t row = s->reverse ? s->n - 1 - done : done;
        float *to = y + row * s->o;
        const int32_t e = pl_row_w4(s, x + row * s->i, q);
        const float unit = e == PL_FIXED_NONE ? 0.0f : pl_fixed_unit(e);
        if (e == PL_FIXED_NONE) {
            for (int32_t r = 0; r < s->o; r++) {
                float sum = 0.0f;
                for (int32_t k = 0; k < s->i; k++) {
                    const pl_fixed_bits v = {.u = (uint32_t)q[k]};
                    sum += v.f * ((float)pl_weight_w4(s, w, step, r, k) * scale[r]);
                }
                to[r] = pl_fixed_output(sum + bias[r], relu);
            }
            continue;
        }
        for (int32_t r = 0; r < s->o;) {
            int64_t sum[4]; // (outputs)
            const int32_t outputs = s->o - r >= 4 ? 4 : 1;
            pl_outputs_w4(s, q, w + r * (s->width >> 3), step + r * s->groups, outputs, sum);
            for (int32_t f = 0; f < outputs; f++, r++) {
                to[r] = pl_fixed_output(pl_fixed_sum(sum[f]) * unit * scale[r] + bias[r], relu);
            }
        }
    }
    pl_limit_f32(s->act, s->lo, s->hi, y, s->n * s->o);
}

#endif
