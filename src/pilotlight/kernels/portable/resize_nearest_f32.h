#ifndef PL_RESIZE_NEAREST_F32_H
#define PL_RESIZE_NEAREST_F32_H

#include "resize2d.h"
#include "mem.h"

/* The input pixel under output pixel o, as PyTorch rounds it: `half` is 0.5 for "nearest-exact", else 0. */
static inline int32_t pl_nearest(int32_t o, float scale, float half, int32_t size)
{
    const int32_t i = (int32_t)(((float)o + half) * scale);
    return (i < size) ? i : (size - 1);
}

/* Nearest neighbour. Walks output pixels forward. */
static inline void pl_resize_nearest_f32(const pl_resize2d_t *s, const float *x_start, float *y_start, float half)
{
    const float *x = x_start;
    float *y = y_start;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            const float *row = x + (pl_nearest(oy, s->sh, half, s->ih) * s->iw * s->c); // (iw, c)
            for (int32_t ox = 0; ox < s->ow; ox++) {
                const float *p = row + (pl_nearest(ox, s->sw, half, s->iw) * s->c);
                for (int32_t k = 0; k < s->c; k++) {
                    PL_BARRIER(y);
                    *y = *p;
                    y++;
                    p++;
                }
            }
        }
        x = &x[s->ih * s->iw * s->c];
    }
}

#endif
