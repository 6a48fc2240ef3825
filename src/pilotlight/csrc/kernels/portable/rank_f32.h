#ifndef PL_RANK_F32_H
#define PL_RANK_F32_H

#include <stdint.h>

#include "number_f32.h"

/* The element of one rank along the middle of (outer, axis, inner) as if sorted, NaN last, and where it stands: y and
 * ids (outer, inner). A rank of -1 is the lower median, which is NaN where there is one; -2 is the lower median of what
 * is not NaN. Every element is compared with every other, which needs no memory. */
static inline void pl_rank_f32(const float *x, float *y, int64_t *ids, int32_t outer, int32_t axis, int32_t inner,
                               int32_t rank)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            const float *lane = x + (o * axis * inner + i);
            int32_t numbers = 0, wanted = rank, at = 0;
            for (int32_t k = 0; k < axis; k++) {
                numbers += !pl_is_nan_f32(lane[k * inner]);
            }
            if (rank < 0) {
                wanted = rank == -1 && numbers < axis ? numbers : numbers > 0 ? (numbers - 1) / 2 : 0;
            }
            for (int32_t j = 0; j < axis; j++) {
                const float v = lane[j * inner];
                int32_t below = pl_is_nan_f32(v) ? numbers : 0;
                for (int32_t k = 0; k < axis; k++) {
                    const float other = lane[k * inner];
                    below += other < v || (k < j && (other == v || (pl_is_nan_f32(v) && pl_is_nan_f32(other))));
                }
                at = below == wanted ? j : at;
            }
            y[o * inner + i] = lane[at * inner];
            ids[o * inner + i] = at;
        }
    }
}

#endif
