#ifndef PL_GATHER_U8_H
#define PL_GATHER_U8_H

#include "alias.h"
#include "index.h"

/* y[o, j, i] = x[o, ids[o, j, i], i] for elements of one size: x (outer, size, inner), ids and y
 * (outer, count, inner). */
static inline void pl_gather_u8(const pl_u8 *x, const int64_t *ids, pl_u8 *y, int32_t outer, int32_t size,
                                 int32_t count, int32_t inner)
{
    for (int32_t o = 0; o < outer; o++, x += size * inner) {
        for (int32_t j = 0; j < count; j++) {
            for (int32_t i = 0; i < inner; i++) {
                *y++ = x[pl_index(*ids++, size) * inner + i];
            }
        }
    }
}

#endif
