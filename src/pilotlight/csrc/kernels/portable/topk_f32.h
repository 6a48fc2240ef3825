#ifndef PL_TOPK_F32_H
#define PL_TOPK_F32_H

#include "sort_f32.h"

/* The k largest (or smallest) along the middle of (outer, axis, inner), in order, of equals the first: values to y
 * and where they stood to ids, both (outer, k, inner). A list of k is kept in order while x is read once. */
static inline void pl_topk_f32(const float *x, float *y, int64_t *ids, int32_t outer, int32_t axis, int32_t inner,
                               int32_t k, int32_t largest)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            const float *in = x + (o * axis * inner + i);
            float *out = y + (o * k * inner + i);
            int64_t *id = ids + (o * k * inner + i);
            for (int32_t j = 0; k > 0 && j < axis; j++) {
                const float v = in[j * inner];
                int32_t at = j < k ? j : k;
                if (at == k && !pl_before_f32(v, j, out[(k - 1) * inner], id[(k - 1) * inner], largest)) {
                    continue;
                }
                at -= at == k;
                for (; at > 0 && pl_before_f32(v, j, out[(at - 1) * inner], id[(at - 1) * inner], largest); at--) {
                    out[at * inner] = out[(at - 1) * inner];
                    id[at * inner] = id[(at - 1) * inner];
                }
                out[at * inner] = v;
                id[at * inner] = j;
            }
        }
    }
}

#endif
