#ifndef PL_FILTERS_F32_H
#define PL_FILTERS_F32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "integer.h"
#include "mac_f32.h"

/* Calls the block of `pixels` pixels by `filters` filters; written for each model. */
static inline void pl_mac_f32(const pl_mac_t *a, int32_t depthwise, int32_t pixels, int32_t filters);

/* Whether blocks of one size make up the filters. */
static inline bool pl_one_size(int32_t filters)
{
    return ((filters & 7) == 0) || (filters == 4) || (filters == 2) || (filters == 1);
}

/* All filters of a->groups groups of `pixels` pixels, in blocks of 8, then 4, 2 and 1; a->groups must be 1 when more
 * than one size of block is needed. w has k weights per filter; a filter's first `skip` meet no input. */
static inline void pl_mac_filters_f32(pl_mac_t *a, int32_t depthwise, int32_t pixels, int32_t filters, const float *x,
                                      const float *w, int32_t k, int32_t skip, const float *bias, float *y)
{
    int32_t done = 0;
    uint32_t log2 = 3u;
    while (done < filters) {
        const int32_t size = pl_signed(1u << log2);
        a->blocks = pl_signed(pl_unsigned(filters - done) >> log2);
        if (a->blocks > 0) {
            a->x = (depthwise != 0) ? (x + done) : x;
            a->w = w + (done * k) + (skip * size);
            a->bias = (bias != NULL) ? (bias + done) : NULL;
            a->y = y + done;
            pl_mac_f32(a, depthwise, pixels, size);
            done += a->blocks * size;
        }
        log2--;
    }
}

#endif
