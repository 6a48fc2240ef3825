#ifndef PL_PUT_ADD_F32_H
#define PL_PUT_ADD_F32_H

#include "index.h"
#include "number_f32.h"

/* Rows added into place, for index_add and accumulating index_put: v (outer, count, inner) is added to rows ids
 * (count) of y (outer, size, inner). */
static inline void pl_put_add_f32(const float *v_start, const int64_t *ids, float *y_start, int32_t outer, int32_t size,
                                  int32_t count, int32_t inner)
{
    const float *v = v_start;
    float *y = y_start;
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < count; i++) {
            float *row = y + (pl_index(ids[i], size) * inner); // (inner)
            for (int32_t k = 0; k < inner; k++) {
                row[k] = pl_add_f32(row[k], *v++);
            }
        }
        y = &y[size * inner];
    }
}

#endif
