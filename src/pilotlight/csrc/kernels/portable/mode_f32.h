#ifndef PL_MODE_F32_H
#define PL_MODE_F32_H

#include <stdint.h>

/* The most frequent element along the middle of (outer, axis, inner), of equally frequent ones the least, and where it
 * stands last: y and ids (outer, inner). */
static inline void pl_mode_f32(const float *x, float *y, int64_t *ids, int32_t outer, int32_t axis, int32_t inner)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            const float *lane = x + (o * axis * inner + i);
            int32_t at = 0, most = 0;
            for (int32_t j = 0; j < axis; j++) {
                const float v = lane[j * inner];
                int32_t count = 0;
                for (int32_t k = 0; k < axis; k++) {
                    count += lane[k * inner] == v;
                }
                if (count > most || (count == most && v <= lane[at * inner])) {
                    most = count;
                    at = j;
                }
            }
            y[o * inner + i] = lane[at * inner];
            ids[o * inner + i] = at;
        }
    }
}

#endif
