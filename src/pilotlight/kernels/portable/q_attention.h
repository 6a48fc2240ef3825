#ifndef PL_Q_ATTENTION_H
#define PL_Q_ATTENTION_H

#include <stddef.h>

#include "integer.h"
#include "q_clamp.h"
#include "q_inverse.h"
#include "requantize.h"

/* Scaled dot product attention of int8: `batch` times `heads` times `rows` queries of `width` numbers look at `keys`
 * keys and values; a value has `depth` numbers. Heads share keys and values in groups of heads / kv_heads. */
typedef struct {
    int32_t batch;
    int32_t heads;
    int32_t kv_heads;
    int32_t rows;
    int32_t keys;
    int32_t width;
    int32_t depth;
    int32_t m_batch; // distances in the mask, in elements; 0 repeats it
    int32_t m_head;
    int32_t m_row;
    int32_t m_key;
    int32_t causal; // row r sees keys 0..r only
    int32_t zq;     // zero points
    int32_t zk;
    int32_t zv;
    int32_t reach; // beyond this distance from the largest score a weight is 0
    int32_t up;    // distance to log2, in units of 2^-16
    int32_t factor;
    int32_t bits; // the largest weight is 2^bits
    pl_requantize_t out;
    int32_t m; // the multiplier of sums of 2^20-weighted values
} pl_q_attention_t;

/* 2^-u for u in units of 2^-16, in units of 2^-30: a cubic for the fraction, exact at 0 and within 1.5e-4. */
static inline int32_t pl_q_exp2(int32_t u)
{
    const int32_t f = (int32_t)(pl_unsigned(u & 0xffff) << 15); // 0 <= f < 1 in units of 2^-31
    int32_t p = -41891888;
    p = 247053520 + (2 * pl_rhmul(p, f));
    p = -742032536 + (2 * pl_rhmul(p, f));
    p = 1073741824 + (2 * pl_rhmul(p, f));
    return pl_shr_by(p, pl_shr(u, 16));
}

/* Sums of a query with four keys. */
typedef struct {
    int32_t a0;
    int32_t a1;
    int32_t a2;
    int32_t a3;
} pl_q_scores_t;

/* a += q (width) times four keys, `row` apart; a row of 0 repeats the first. */
PL_Q_APART void pl_q_attention_dot(pl_q_scores_t *a, const int8_t *q, const int8_t *k, int32_t width, int32_t row,
                                   int32_t zq)
{
    const int8_t *k1 = k + row;
    const int8_t *k2 = k1 + row;
    const int8_t *k3 = k2 + row;
    int32_t a0 = a->a0;
    int32_t a1 = a->a1;
    int32_t a2 = a->a2;
    int32_t a3 = a->a3;
    for (int32_t e = 0; e < width; e++) {
        const int32_t v = q[e] - zq;
        a0 += v * k[e];
        a1 += v * k1[e];
        a2 += v * k2[e];
        a3 += v * k3[e];
    }
    a->a0 = a0;
    a->a1 = a1;
    a->a2 = a2;
    a->a3 = a3;
}

/* Scores of one query q (width) with the keys k (keys, width), four at a time; hidden ones are the lowest integer.
 * Returns the largest. */
static inline int32_t pl_q_attention_scores(const pl_q_attention_t *s, const int8_t *q, const int8_t *k_start,
                                            const uint8_t *keep, int32_t *scores, int32_t keys)
{
    const int8_t *k = k_start;
    int32_t top = INT32_MIN;
    int32_t begin = -s->width * s->zq;
    int32_t four;
    for (int32_t e = 0; e < s->width; e++) {
        begin += q[e];
    }
    begin *= -s->zk; // what the keys' zero point adds to every score
    for (int32_t j = 0; j < keys; j += four) {
        pl_q_scores_t a = {begin, begin, begin, begin};
        four = ((j + 4) <= keys) ? 4 : 1;
        pl_q_attention_dot(&a, q, k, s->width, (four == 4) ? s->width : 0, s->zq);
        scores[j] = a.a0;
        if (four == 4) {
            scores[j + 1] = a.a1;
            scores[j + 2] = a.a2;
            scores[j + 3] = a.a3;
        }
        k = &k[four * s->width];
    }
    for (int32_t j = 0; j < keys; j++) {
        scores[j] = ((keep != NULL) && (keep[j * s->m_key] == 0u)) ? INT32_MIN : scores[j];
        top = (scores[j] > top) ? scores[j] : top;
    }
    return top;
}

/* Scores to probabilities in units of 2^-20, in place. */
static inline void pl_q_attention_weights(const pl_q_attention_t *s, int32_t *scores, int32_t keys, int32_t top)
{
    const int32_t up = pl_signed(1u << pl_unsigned(30 - s->bits));
    pl_q_inverse_t inverse;
    uint32_t sum = 0u;
    for (int32_t j = 0; j < keys; j++) {
        int32_t e = 0;
        if ((scores[j] != INT32_MIN) && ((top - scores[j]) < s->reach)) {
            e = pl_shr_by(pl_q_exp2(pl_rhmul((top - scores[j]) * s->up, s->factor)), 30 - s->bits);
        }
        scores[j] = e;
        sum += (uint32_t)e;
    }
    inverse = pl_q_inverse(sum, s->bits);
    for (int32_t j = 0; j < keys; j++) {
        const int32_t share = pl_shr_by(pl_rhmul(scores[j] * up, inverse.r * 16384), inverse.h);
        scores[j] = pl_shr(share + 128, 8);
    }
}

/* y (depth) = the values v (keys, depth) weighted by p (keys), four columns at a time. */
static inline void pl_q_attention_mix(const pl_q_attention_t *s, const int32_t *p, const int8_t *v, int8_t *y,
                                      int32_t keys)
{
    int32_t begin = 0;
    int32_t e = 0;
    for (int32_t j = 0; j < keys; j++) {
        begin -= p[j];
    }
    begin *= s->zv; // what the values' zero point adds to every sum
    for (; (e + 4) <= s->depth; e += 4) {
        const int8_t *t = v + e;
        int32_t a0 = begin;
        int32_t a1 = begin;
        int32_t a2 = begin;
        int32_t a3 = begin;
        for (int32_t j = 0; j < keys; j++) {
            const int32_t w = p[j];
            a0 += w * t[0];
            a1 += w * t[1];
            a2 += w * t[2];
            a3 += w * t[3];
            t = &t[s->depth];
        }
        y[e] = pl_requantize_s8(&s->out, a0, s->m);
        y[e + 1] = pl_requantize_s8(&s->out, a1, s->m);
        y[e + 2] = pl_requantize_s8(&s->out, a2, s->m);
        y[e + 3] = pl_requantize_s8(&s->out, a3, s->m);
    }
    for (; e < s->depth; e++) {
        int32_t a = begin;
        for (int32_t j = 0; j < keys; j++) {
            a += p[j] * v[(j * s->depth) + e];
        }
        y[e] = pl_requantize_s8(&s->out, a, s->m);
    }
}

/* One query row at a time. q (batch, heads, rows, width), k (batch, kv_heads, keys, width), v (batch, kv_heads, keys,
 * depth), y (batch, heads, rows, depth). keep, 0 where a key is hidden, may be null. scratch (keys). A row that sees
 * no key gives zeros. */
static inline void pl_q_attention(const pl_q_attention_t *s, const int8_t *q_start, const int8_t *k, const int8_t *v,
                                  const uint8_t *keep, int32_t *scratch, int8_t *y_start)
{
    const int8_t *q = q_start;
    int8_t *y = y_start;
    const int32_t share = s->heads / s->kv_heads;
    for (int32_t b = 0; b < s->batch; b++) {
        for (int32_t h = 0; h < s->heads; h++) {
            const int32_t group = ((b * s->kv_heads) + (h / share)) * s->keys;
            const int8_t *values = v + (group * s->depth); // (keys, depth)
            for (int32_t r = 0; r < s->rows; r++) {
                const int32_t keys = ((s->causal != 0) && ((r + 1) < s->keys)) ? (r + 1) : s->keys;
                const uint8_t *mask =
                    (keep != NULL) ? (keep + ((b * s->m_batch) + (h * s->m_head) + (r * s->m_row))) : keep;
                const int32_t top = pl_q_attention_scores(s, q, k + (group * s->width), mask, scratch, keys);
                if (top != INT32_MIN) {
                    pl_q_attention_weights(s, scratch, keys, top);
                }
                pl_q_attention_mix(s, scratch, values, y, (top != INT32_MIN) ? keys : 0);
                q = &q[s->width];
                y = &y[s->depth];
            }
        }
    }
}

#endif
