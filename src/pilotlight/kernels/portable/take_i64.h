#ifndef PL_TAKE_I64_H
#define PL_TAKE_I64_H

#include "index.h"
#include "mem.h"

/* Rows by number, for embedding, index_select and x[ids]: x (outer, size, bytes), ids (count) -> y
 * (outer, count, bytes). Any element type: a row is `bytes` bytes. */
static inline void pl_take_i64(const void *x, const int64_t *ids, void *y, int32_t outer, int32_t size, int32_t count,
                               int32_t bytes)
{
    const uint8_t *from = (const uint8_t *)x;
    uint8_t *to = (uint8_t *)y;
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < count; i++) {
            pl_copy(to, from + (pl_index(ids[i], size) * bytes), bytes);
            to = &to[bytes];
        }
        from = &from[size * bytes];
    }
}

#endif
