#ifndef PL_SCATTER_U8_H
#define PL_SCATTER_U8_H

#include "alias.h"
#include "index.h"

/* y[o, ids[o, j, i], i] = v[o, j, i] for elements of one size: y (outer, size, inner) holds the tensor already, ids
 * and v (outer, count, inner); one element for all where v_step is 0. */
static inline void pl_scatter_u8(const pl_u8 *v, const int64_t *ids, pl_u8 *y, int32_t outer, int32_t size,
                                  int32_t count, int32_t inner, int32_t v_step)
{
    for (int32_t o = 0; o < outer; o++, y += size * inner) {
        for (int32_t j = 0; j < count; j++) {
            for (int32_t i = 0; i < inner; i++, v += v_step) {
                y[pl_index(*ids++, size) * inner + i] = *v;
            }
        }
    }
}

#endif
