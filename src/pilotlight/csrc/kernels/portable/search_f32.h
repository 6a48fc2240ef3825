#ifndef PL_SEARCH_F32_H
#define PL_SEARCH_F32_H

#include <stdint.h>

/* Where numbers belong in sorted rows: how many elements of row o lie below v[o, i], or not above it where `right`.
 * rows (outer, size), or one row for all where `next` is 0; v and y (outer, count). NaN belongs behind everything. */
static inline void pl_search_f32(const float *rows, const float *v, int64_t *y, int32_t outer, int32_t size,
                                 int32_t next, int32_t count, int32_t right)
{
    for (int32_t o = 0; o < outer; o++, rows += next) {
        for (int32_t i = 0; i < count; i++, v++) {
            int32_t low = 0, high = size;
            while (low < high) {
                const int32_t middle = low + (high - low) / 2;
                if (right ? rows[middle] > *v : rows[middle] >= *v) {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            *y++ = low;
        }
    }
}

#endif
