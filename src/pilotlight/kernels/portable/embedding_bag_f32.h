#ifndef PL_EMBEDDING_BAG_F32_H
#define PL_EMBEDDING_BAG_F32_H

#include <stddef.h>

#include "index.h"

/* Rows of x (rows, width) joined by bag. mode: 0 sum, 1 mean, 2 largest. Bag b has ids from offsets[b] up to the next
 * offset, or to `count` after the last of `ends` offsets. ids equal to `padding` do not count; a bag without any is
 * 0. */
typedef struct {
    int32_t rows;
    int32_t width;
    int32_t count;
    int32_t bags;
    int32_t ends;
    int32_t mode;
    int32_t padding;
} pl_embedding_bag_t;

/* x (rows, width), ids (count), offsets (ends), weights (count) or 0 -> y (bags, width) */
static inline void pl_embedding_bag_f32(const pl_embedding_bag_t *s, const float *x, const int64_t *ids,
                                        const int64_t *offsets, const float *weights, float *y_start)
{
    float *y = y_start;
    for (int32_t b = 0; b < s->bags; b++) {
        const int64_t from = (offsets[b] < 0) ? 0 : offsets[b];
        const int64_t next = ((b + 1) < s->ends) ? offsets[b + 1] : s->count;
        const int32_t to = (int32_t)((next < s->count) ? next : s->count);
        for (int32_t k = 0; k < s->width; k++) {
            float sum = 0.0f;
            int32_t used = 0;
            for (int32_t i = (int32_t)from; i < to; i++) {
                const int32_t row = pl_index(ids[i], s->rows);
                if (row != s->padding) {
                    const float v = x[(row * s->width) + k] * ((weights != NULL) ? weights[i] : 1.0f);
                    sum = (s->mode != 2) ? (sum + v) : ((used == 0) || (v > sum)) ? v : sum;
                    used++;
                }
            }
            y[k] = ((s->mode == 1) && (used != 0)) ? (sum / (float)used) : sum;
        }
        y = &y[s->width];
    }
}

#endif
