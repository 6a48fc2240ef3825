#ifndef PL_RESIZE_BICUBIC_F32_H
#define PL_RESIZE_BICUBIC_F32_H

#include "cubic_f32.h"
#include "floor_f32.h"
#include "resize2d.h"

/* The first of four input pixels (it may lie outside) and their weights. */
typedef struct {
    int32_t first;
    float w[4];
} pl_cubic_t;

static inline void pl_cubic_at(int32_t o, float scale, int32_t align_corners, pl_cubic_t *p)
{
    const float at = (align_corners != 0) ? ((float)o * scale) : ((((float)o + 0.5f) * scale) - 0.5f);
    const float whole = pl_floor_f32(at);
    p->first = (int32_t)whole - 1;
    pl_cubic_weights(at - whole, p->w);
}

static inline int32_t pl_clip_index(int32_t i, int32_t size) { return (i < 0) ? 0 : (i < size) ? i : (size - 1); }

/* Cubic in both directions; pixels outside repeat the border. Walks output pixels forward. */
static inline void pl_resize_bicubic_f32(const pl_resize2d_t *s, const float *x_start, float *y_start)
{
    const float *x = x_start;
    float *y = y_start;
    pl_cubic_t v; // down and across
    pl_cubic_t h;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            pl_cubic_at(oy, s->sh, s->align_corners, &v);
            for (int32_t ox = 0; ox < s->ow; ox++) {
                pl_cubic_at(ox, s->sw, s->align_corners, &h);
                for (int32_t k = 0; k < s->c; k++) {
                    float sum = 0.0f;
                    for (int32_t r = 0; r < 4; r++) {
                        const float *row = x + (pl_clip_index(v.first + r, s->ih) * s->iw * s->c) + k;
                        float line = 0.0f;
                        for (int32_t q = 0; q < 4; q++) {
                            line += h.w[q] * row[pl_clip_index(h.first + q, s->iw) * s->c];
                        }
                        sum += v.w[r] * line;
                    }
                    *y = sum;
                    y++;
                }
            }
        }
        x = &x[s->ih * s->iw * s->c];
    }
}

#endif
