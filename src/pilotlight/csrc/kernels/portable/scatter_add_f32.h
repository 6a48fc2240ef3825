#ifndef PL_SCATTER_ADD_F32_H
#define PL_SCATTER_ADD_F32_H

#include "index.h"
#include "number_f32.h"

/* y[o, ids[o, j, i], i] += v[o, j, i]: y (outer, size, inner) holds the tensor already, ids and v
 * (outer, count, inner). */
static inline void pl_scatter_add_f32(const float *v, const int64_t *ids, float *y, int32_t outer, int32_t size,
                                      int32_t count, int32_t inner)
{
    for (int32_t o = 0; o < outer; o++, y += size * inner) {
        for (int32_t j = 0; j < count; j++) {
            for (int32_t i = 0; i < inner; i++) {
                float *at = y + (pl_index(*ids++, size) * inner + i);
                *at = pl_add_f32(*at, *v++);
            }
        }
    }
}

#endif
