#ifndef PL_SORT_F32_H
#define PL_SORT_F32_H

#include <stdint.h>

#include "number_f32.h"

/* Whether a comes before b in the order of a sort: NaN is above every number, equals keep the order they had. */
static inline int pl_before_f32(float a, int64_t ia, float b, int64_t ib, int32_t descending)
{
    const int less = a < b || (pl_is_nan_f32(b) && !pl_is_nan_f32(a));
    const int more = a > b || (pl_is_nan_f32(a) && !pl_is_nan_f32(b));
    if (less != more) {
        return descending ? more : less;
    }
    return ia < ib;
}

/* Lets element `at` of a heap of n sink to its place: the last in order is on top. */
static inline void pl_sink_f32(float *y, int64_t *ids, int32_t at, int32_t n, int32_t stride, int32_t descending)
{
    const float v = y[at * stride];
    const int64_t id = ids[at * stride];
    int32_t child;
    for (; (child = 2 * at + 1) < n; at = child) {
        const int32_t other = (child + 1) * stride;
        if (child + 1 < n && pl_before_f32(y[child * stride], ids[child * stride], y[other], ids[other], descending)) {
            child++;
        }
        if (!pl_before_f32(v, id, y[child * stride], ids[child * stride], descending)) {
            break;
        }
        y[at * stride] = y[child * stride];
        ids[at * stride] = ids[child * stride];
    }
    y[at * stride] = v;
    ids[at * stride] = id;
}

/* Sorts along the middle of (outer, axis, inner) by a heap: values to y, where they stood to ids. Comparing the
 * old places last makes it stable without scratch. */
static inline void pl_sort_f32(const float *x, float *y, int64_t *ids, int32_t outer, int32_t axis, int32_t inner,
                               int32_t descending)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            const int32_t at = o * axis * inner + i;
            float *out = y + at;
            int64_t *id = ids + at;
            for (int32_t k = 0; k < axis; k++) {
                out[k * inner] = x[at + k * inner];
                id[k * inner] = k;
            }
            for (int32_t k = axis / 2 - 1; k >= 0; k--) {
                pl_sink_f32(out, id, k, axis, inner, descending);
            }
            for (int32_t k = axis - 1; k > 0; k--) {
                const float v = out[k * inner];
                const int64_t j = id[k * inner];
                out[k * inner] = out[0];
                id[k * inner] = id[0];
                out[0] = v;
                id[0] = j;
                pl_sink_f32(out, id, 0, k, inner, descending);
            }
        }
    }
}

#endif
