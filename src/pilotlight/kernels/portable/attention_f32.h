#ifndef PL_ATTENTION_F32_H
#define PL_ATTENTION_F32_H

#include <stddef.h>

#include "exp_f32.h"
#include "mem.h"
#include "minmax_f32.h"

/* The shape of scaled dot product attention: `batch` times `heads` times `rows` queries of `width` numbers look at
 * `keys` keys and values; a value has `depth` numbers. Heads share keys and values in groups of heads / kv_heads.
 * Distances are in elements, from one batch, head or row to the next, so that no tensor need be transposed
 * first; the numbers of one row are neighbours. */
typedef struct {
    int32_t batch;
    int32_t heads;
    int32_t kv_heads;
    int32_t rows;
    int32_t keys;
    int32_t width;
    int32_t depth;
    int32_t q_batch;
    int32_t q_head;
    int32_t q_row;
    int32_t k_batch;
    int32_t k_head;
    int32_t k_row;
    int32_t v_batch;
    int32_t v_head;
    int32_t v_row;
    int32_t y_batch;
    int32_t y_head;
    int32_t y_row;
    int32_t m_batch; // of the mask; 0 repeats it
    int32_t m_head;
    int32_t m_row;
    int32_t m_key;
    int32_t causal; // row r sees keys 0..r only
    float scale;
} pl_attention_t;

/* scores (keys) = scale * q . k, four keys at a time. */
static inline void pl_attention_scores_f32(const pl_attention_t *s, const float *q, const float *k_start, float *scores,
                                           int32_t keys)
{
    const float *k = k_start;
    const int32_t fours = keys & ~3; // a constant once inlined, so that the compiler sees how often the rest runs
    for (int32_t j = 0; j < fours; j += 4) {
        const float *k1 = k + s->k_row;
        const float *k2 = k1 + s->k_row;
        const float *k3 = k2 + s->k_row;
        float a0 = 0.0f;
        float a1 = 0.0f;
        float a2 = 0.0f;
        float a3 = 0.0f;
        for (int32_t e = 0; e < s->width; e++) {
            const float v = q[e];
            a0 += v * k[e];
            a1 += v * k1[e];
            a2 += v * k2[e];
            a3 += v * k3[e];
        }
        scores[j] = a0 * s->scale;
        scores[j + 1] = a1 * s->scale;
        scores[j + 2] = a2 * s->scale;
        scores[j + 3] = a3 * s->scale;
        k = &k[4 * s->k_row];
    }
    for (int32_t j = fours; j < keys; j++) {
        float a = 0.0f;
        for (int32_t e = 0; e < s->width; e++) {
            a += q[e] * k[e];
        }
        scores[j] = a * s->scale;
        k = &k[s->k_row];
    }
}

/* y (depth) = sum of scores * v, four columns at a time, divided by `sum`. */
static inline void pl_attention_mix_f32(const pl_attention_t *s, const float *scores, const float *v, float *y,
                                        int32_t keys, float sum)
{
    const float scale = 1.0f / sum;
    const int32_t fours = s->depth & ~3;
    for (int32_t e = 0; e < fours; e += 4) {
        const float *p = v + e;
        float a0 = 0.0f;
        float a1 = 0.0f;
        float a2 = 0.0f;
        float a3 = 0.0f;
        for (int32_t j = 0; j < keys; j++) {
            const float w = scores[j];
            a0 += w * p[0];
            a1 += w * p[1];
            a2 += w * p[2];
            a3 += w * p[3];
            p = &p[s->v_row];
        }
        y[e] = a0 * scale;
        y[e + 1] = a1 * scale;
        y[e + 2] = a2 * scale;
        y[e + 3] = a3 * scale;
    }
    for (int32_t e = fours; e < s->depth; e++) {
        const float *p = v + e;
        float a = 0.0f;
        for (int32_t j = 0; j < keys; j++) {
            a += scores[j] * p[0];
            p = &p[s->v_row];
        }
        y[e] = a * scale;
    }
}

/* e^(score - max) in place; returns the sum, or 0 where every score is -infinity (all is masked). */
static inline float pl_attention_weights_f32(float *scores, int32_t keys)
{
    float top = scores[0];
    float sum = 0.0f;
    for (int32_t j = 1; j < keys; j++) {
        top = pl_max_f32(scores[j], top);
    }
    if (top != -pl_inf()) {
        for (int32_t j = 0; j < keys; j++) {
            const float below = scores[j] - top;
            scores[j] = (below < -104.0f) ? 0.0f : pl_exp_f32(below); /* hidden keys cost nothing */
            sum += scores[j];
        }
    }
    return sum;
}

/* How many keys a row has to look at: those after the last visible one are left out. mask is the row's place in
 * `add` and `keep`. */
static inline int32_t pl_attention_keys(const pl_attention_t *s, const float *add, const uint8_t *keep, int32_t row,
                                        int32_t mask)
{
    int32_t keys = ((s->causal != 0) && ((row + 1) < s->keys)) ? (row + 1) : s->keys;
    while ((keep != NULL) && (keys > 0) && (keep[mask + ((keys - 1) * s->m_key)] == 0u)) {
        keys--;
    }
    while ((add != NULL) && (keys > 0) && (add[mask + ((keys - 1) * s->m_key)] == -pl_inf())) {
        keys--;
    }
    return keys;
}

/* Attention, one query row at a time. `add` (float, added to the scores) or `keep` (bytes, 0 hides a key) is the
 * mask; either or both may be null. scratch (keys). A row that sees no key gives zeros, as PyTorch does. */
static inline void pl_attention_f32(const pl_attention_t *s, const float *q, const float *k, const float *v,
                                    const float *add, const uint8_t *keep, float *scratch, float *y)
{
    const int32_t share = s->heads / s->kv_heads;
    for (int32_t b = 0; b < s->batch; b++) {
        for (int32_t h = 0; h < s->heads; h++) {
            const float *kh = k + ((b * s->k_batch) + (h / share * s->k_head));
            const float *vh = v + ((b * s->v_batch) + (h / share * s->v_head));
            for (int32_t r = 0; r < s->rows; r++) {
                const int32_t mask = (b * s->m_batch) + (h * s->m_head) + (r * s->m_row);
                const int32_t keys = pl_attention_keys(s, add, keep, r, mask);
                float *out = y + ((b * s->y_batch) + (h * s->y_head) + (r * s->y_row)); // (depth)
                float sum = 0.0f;
                pl_attention_scores_f32(s, q + ((b * s->q_batch) + (h * s->q_head) + (r * s->q_row)), kh, scratch,
                                        keys);
                if (add != NULL) {
                    for (int32_t j = 0; j < keys; j++) {
                        scratch[j] += add[mask + (j * s->m_key)];
                    }
                }
                for (int32_t j = 0; (keep != NULL) && (j < keys); j++) {
                    scratch[j] = (keep[mask + (j * s->m_key)] != 0u) ? scratch[j] : -pl_inf();
                }
                if (keys > 0) {
                    sum = pl_attention_weights_f32(scratch, keys);
                }
                if (sum == 0.0f) {
                    pl_zero(out, s->depth * (int32_t)sizeof(float));
                } else {
                    pl_attention_mix_f32(s, scratch, vh, out, keys, sum);
                }
            }
        }
    }
}

#endif
