#ifndef PL_Q_ATTENTION_H
#define PL_Q_ATTENTION_H

#include "q_clamp.h"
#include "q_inverse.h"

/* Scaled dot product attention of int8: `batch` times `heads` times `rows` queries of `width` numbers look at `keys`
 * keys and values; a value has `depth` numbers. Heads share keys and values in groups of heads / kv_heads. */
typedef struct {
    int32_t batch, heads, kv_heads, rows, keys, width, depth;
    int32_t m_batch, m_head, m_row, m_key; // distances in the mask, in elements; 0 repeats it
    int32_t causal;                        // row r sees keys 0..r only
    int32_t zq, zk, zv;                    // zero points
    int32_t reach;                         // beyond this distance from the largest score a weight is 0
    int32_t up, factor;                    // distance to log2, in units of 2^-16
    int32_t bits;                          // the largest weight is 2^bits
    pl_q_out_t out;
    int32_t m; // the multiplier of sums of 2^20-weighted values
} pl_q_attention_t;

/* 2^-u for u in units of 2^-16, in units of 2^-30: a cubic for the fraction, exact at 0 and within 1.5e-4. */
static inline int32_t pl_q_exp2(int32_t u)
{
    const int32_t f = (int32_t)((uint32_t)(u & 0xffff) << 15); // 0 <= f < 1 in units of 2^-31
    int32_t p = -41891888;
    p = 247053520 + 2 * pl_rhmul(p, f);
    p = -742032536 + 2 * pl_rhmul(p, f);
    p = 1073741824 + 2 * pl_rhmul(p, f);
    return p >> (u >> 16);
}

/* Scores of one query q (width) with the keys k (keys, width); hidden ones are the lowest integer. Returns the
 * largest. */
static inline int32_t pl_q_attention_scores(const pl_q_attention_t *s, const int8_t *q, const int8_t *k,
                                            const uint8_t *keep, int32_t *scores, int32_t keys)
{
    int32_t top = INT32_MIN;
    for (int32_t j = 0; j < keys; j++, k += s->width) {
        int32_t sum = 0;
        if (keep && !keep[j * s->m_key]) {
            scores[j] = INT32_MIN;
            continue;
        }
        for (int32_t e = 0; e < s->width; e++) {
            sum += (q[e] - s->zq) * (k[e] - s->zk);
        }
        scores[j] = sum;
        top = sum > top ? sum : top;
    }
    return top;
}

/* Scores to probabilities in units of 2^-20, in place. */
static inline void pl_q_attention_weights(const pl_q_attention_t *s, int32_t *scores, int32_t keys, int32_t top)
{
    const int32_t up = (int32_t)(1u << (30 - s->bits));
    pl_q_inverse_t inverse;
    uint32_t sum = 0u;
    for (int32_t j = 0; j < keys; j++) {
        int32_t e = 0;
        if (scores[j] != INT32_MIN && top - scores[j] < s->reach) {
            e = pl_q_exp2(pl_rhmul((top - scores[j]) * s->up, s->factor)) >> (30 - s->bits);
        }
        scores[j] = e;
        sum += (uint32_t)e;
    }
    inverse = pl_q_inverse(sum);
    for (int32_t j = 0; j < keys; j++) {
        const int32_t share = pl_rhmul(scores[j] * up, inverse.r * 16384) >> (inverse.h + 15 - s->bits);
        scores[j] = (share + 128) >> 8;
    }
}

/* One query row at a time. q (batch, heads, rows, width), k (batch, kv_heads, keys, width), v (batch, kv_heads, keys,
 * depth), y (batch, heads, rows, depth). keep, 0 where a key is hidden, may be null. scratch (keys). A row that sees
 * no key gives zeros. */
static inline void pl_q_attention(const pl_q_attention_t *s, const int8_t *q, const int8_t *k, const int8_t *v,
                                  const uint8_t *keep, int32_t *scratch, int8_t *y)
{
    const int32_t share = s->heads / s->kv_heads;
    for (int32_t b = 0; b < s->batch; b++) {
        for (int32_t h = 0; h < s->heads; h++) {
            const int32_t group = (b * s->kv_heads + h / share) * s->keys;
            const int8_t *values = v + group * s->depth; // (keys, depth)
            for (int32_t r = 0; r < s->rows; r++, q += s->width, y += s->depth) {
                const int32_t keys = s->causal && r + 1 < s->keys ? r + 1 : s->keys;
                const uint8_t *mask = keep ? keep + (b * s->m_batch + h * s->m_head + r * s->m_row) : keep;
                const int32_t top = pl_q_attention_scores(s, q, k + group * s->width, mask, scratch, keys);
                if (top != INT32_MIN) {
                    pl_q_attention_weights(s, scratch, keys, top);
                }
                for (int32_t e = 0; e < s->depth; e++) {
                    int32_t sum = 0;
                    for (int32_t j = 0; top != INT32_MIN && j < keys; j++) {
                        sum += scratch[j] * (values[j * s->depth + e] - s->zv);
                    }
                    y[e] = pl_q_out(&s->out, sum, s->m);
                }
            }
        }
    }
}

#endif
