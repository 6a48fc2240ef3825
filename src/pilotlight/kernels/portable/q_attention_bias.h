#ifndef PL_Q_ATTENTION_BIAS_H
#define PL_Q_ATTENTION_BIAS_H

#include <stddef.h>

#include "q_attention.h"

/* Attention with numbers that are added to the scores. */
typedef struct {
    pl_q_attention_t attention; // its mask distances are those of the bias
    int32_t up;                 // a number of the bias in units of a score
    int32_t factor;
} pl_q_attention_bias_t;

/* Adds the bias of one row to its scores; the lowest integer hides a key. Returns the largest. */
static inline int32_t pl_q_attention_add(const pl_q_attention_bias_t *s, const int16_t *bias, int32_t *scores,
                                         int32_t keys)
{
    int32_t top = INT32_MIN;
    for (int32_t j = 0; j < keys; j++) {
        const int32_t b = bias[j * s->attention.m_key];
        scores[j] = (b == INT16_MIN) ? INT32_MIN : (scores[j] + pl_rhmul(b * s->up, s->factor));
        top = (scores[j] > top) ? scores[j] : top;
    }
    return top;
}

/* As pl_q_attention; bias is int16 in units of 2^-10 and repeats as the mask there. */
static inline void pl_q_attention_bias(const pl_q_attention_bias_t *t, const int8_t *q_start, const int8_t *k,
                                       const int8_t *v, const int16_t *bias, int32_t *scratch, int8_t *y_start)
{
    const int8_t *q = q_start;
    int8_t *y = y_start;
    const pl_q_attention_t *s = &t->attention;
    const int32_t share = s->heads / s->kv_heads;
    for (int32_t b = 0; b < s->batch; b++) {
        for (int32_t h = 0; h < s->heads; h++) {
            const int32_t group = ((b * s->kv_heads) + (h / share)) * s->keys;
            const int8_t *values = v + (group * s->depth); // (keys, depth)
            for (int32_t r = 0; r < s->rows; r++) {
                const int32_t keys = ((s->causal != 0) && ((r + 1) < s->keys)) ? (r + 1) : s->keys;
                const int16_t *row = bias + ((b * s->m_batch) + (h * s->m_head) + (r * s->m_row));
                int32_t top;
                (void)pl_q_attention_scores(s, q, k + (group * s->width), NULL, scratch, keys);
                top = pl_q_attention_add(t, row, scratch, keys);
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
