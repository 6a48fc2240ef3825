#ifndef PL_PUT_I64_H
#define PL_PUT_I64_H

#include "index.h"
#include "mem.h"

/* Rows into place, for index_copy and x[ids] = v: v (outer, count, bytes), or one row for all where v_step is 0,
 * overwrites rows ids (count) of y (outer, size, bytes). Of equal ids the last one stays. y holds the tensor
 * already. */
static inline void pl_put_i64(const void *v, const int64_t *ids, void *y, int32_t outer, int32_t size, int32_t count,
                              int32_t bytes, int32_t v_step)
{
    const uint8_t *from = (const uint8_t *)v;
    uint8_t *to = (uint8_t *)y;
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < count; i++) {
            pl_copy(to + (pl_index(ids[i], size) * bytes), from, bytes);
            from = &from[v_step];
        }
        to = &to[size * bytes];
    }
}

#endif
