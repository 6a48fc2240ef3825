#ifndef PL_LINEAR_W8_H
#define PL_LINEAR_W8_H

#include "fixed_row_f32.h"
#include "mac_f32.h"

/* Linear layers with float inputs and int8 weights, one scale for each output.
 *
 * A row of inputs becomes integers of 30 bits with one exponent, products are summed exactly, and
 * y = sum * unit * scale + bias is rounded after each of these: the same bits on every core. A row with infinity
 * or NaN is summed in float, in order. Weights are packed (o / 4, i, 4), what is left of the outputs (rest, i). */
typedef struct {
    int32_t n, i, o; // rows, inputs, outputs
    int32_t reverse; // 1: from the last row to the first
    int32_t act;     // PL_ACT_*
    float lo, hi;    // limits of outputs
} pl_linear_w8_t;

/* Weight k of output r. */
static inline int32_t pl_weight_w8(const int8_t *w, int32_t i, int32_t o, int32_t r, int32_t k)
{
    return r < (o & ~3) ? w[((r >> 2) * i + k) * 4 + (r & 3)] : w[r * i + k];
}

/* One output: every `step`-th weight. Armv6-M has no long multiply: there halves of inputs, of whose sums 256 fit. */
static inline int64_t pl_dot_w8(const int32_t *x, const int8_t *w, int32_t step, int32_t n)
{
    int64_t sum = 0;
#if (defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB == 1) || defined(PL_LINEAR_PIECES)
    while (n > 0) {
        const int32_t *end = x + (n < 256 ? n : 256);
        int32_t high = 0, low = 0;
        n -= 256;
        for (; x < end; x++, w += step) {
            high += (*x >> 15) * *w;
            low += (*x & 0x7fff) * *w;
        }
        sum += (int64_t)high * 32768 + low;
    }
#else
    for (int32_t k = 0; k < n; k++, w += step) {
        sum += (int64_t)x[k] * *w;
    }
#endif
    return sum;
}

/* Four outputs: x (n), w (n, 4) -> sum (4). */
static inline void pl_four_w8(const int32_t *x, const int8_t *w, int32_t n, int64_t *sum)
{
#if (defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB == 1) || defined(PL_LINEAR_PIECES)
    for (int32_t f = 0; f < 4; f++) {
        sum[f] = pl_dot_w8(x, w + f, 4, n);
    }
#else
    int64_t a = 0, b = 0, c = 0, d = 0;
    int32_t k = n;
    for (; k >= 4; k -= 4, x += 4, w += 16) {
        for (int32_t j = 0; j < 4; j++) {
            const int32_t v = x[j];
            a += (int64_t)v * w[4 * j];
            b += (int64_t)v * w[4 * j + 1];
            c += (int64_t)v * w[4 * j + 2];
            d += (int64_t)v * w[4 * j + 3];
        }
    }
    for (; k > 0; k--, w += 4) {
        const int32_t v = *x++;
        a += (int64_t)v * w[0];
        b += (int64_t)v * w[1];
        c += (int64_t)v * w[2];
        d += (int64_t)v * w[3];
    }
    sum[0] = a;
    sum[1] = b;
    sum[2] = c;
    sum[3] = d;
#endif
}

/* All rows; q (i) is scratch. A row is read before its outputs are written. */
static inline void pl_linear_w8(const pl_linear_w8_t *s,
                                const float *x, // (n, i)
                                const int8_t *w, const float *scale, const float *bias,
                                float *y, // (n, o)
                                int32_t *q)
{
    const int32_t relu = s->act == PL_ACT_RELU || s->act == PL_ACT_LIMIT;
    for (int32_t done = 0; done < s->n; done++) {
        const int32_t row = s->reverse ? s->n - 1 - done : done;
        const float *from = x + row * s->i;
        float *to = y + row * s->o;
        const int32_t e = pl_fixed_exponent(from, s->i);
        const float unit = e == PL_FIXED_NONE ? 0.0f : pl_fixed_unit(e - 156);
        if (e == PL_FIXED_NONE) {
            pl_copy(q, from, s->i * 4);
            for (int32_t r = 0; r < s->o; r++) {
                float sum = 0.0f;
                for (int32_t k = 0; k < s->i; k++) {
                    const pl_fixed_bits v = {.u = (uint32_t)q[k]};
                    sum += v.f * ((float)pl_weight_w8(w, s->i, s->o, r, k) * scale[r]);
                }
                to[r] = pl_fixed_output(sum + bias[r], relu);
            }
            continue;
        }
        pl_fixed_row(from, s->i, e, 30, q);
        for (int32_t r = 0; r < s->o;) {
            int64_t sum[4]; // (outputs)
            const int32_t outputs = s->o - r >= 4 ? 4 : 1;
            if (outputs == 4) {
                pl_four_w8(q, w + r * s->i, s->i, sum);
            } else {
                sum[0] = pl_dot_w8(q, w + r * s->i, 1, s->i);
            }
            for (int32_t f = 0; f < outputs; f++, r++) {
                to[r] = pl_fixed_output(pl_fixed_sum(sum[f]) * unit * scale[r] + bias[r], relu);
            }
        }
    }
    pl_limit_f32(s->act, s->lo, s->hi, y, s->n * s->o);
}

#endif
