#ifndef PL_GRID_SAMPLE_F32_H
#define PL_GRID_SAMPLE_F32_H

#include <stdbool.h>
#include <stdint.h>

#include "abs_f32.h"
#include "cubic_f32.h"
#include "floor_f32.h"
#include "fmod_f32.h"
#include "integer.h"
#include "round_f32.h"

/* x (n, d, h, w, c), d = 1 for images; grid (n, points, dims), dims 2 or 3: x, y and z in -1..1; y (n, points, c).
 * mode: 0 linear, 1 nearest, 2 cubic (images). padding, for what lies outside: 0 zeros, 1 the border, 2 reflection. */
typedef struct {
    int32_t n;
    int32_t d;
    int32_t h;
    int32_t w;
    int32_t c;
    int32_t points;
    int32_t dims;
    int32_t mode;
    int32_t padding;
    int32_t align_corners;
} pl_grid_sample_t;

/* A coordinate moved inside, as the padding says. */
static inline float pl_grid_inside(const pl_grid_sample_t *s, float at_start, int32_t size)
{
    float at = at_start;
    const float last = pl_float(size - 1);
    if (s->padding == 2) {
        const float low = (s->align_corners != 0) ? 0.0f : -0.5f;
        const float span = (s->align_corners != 0) ? last : (float)size;
        if (span == 0.0f) {
            at = 0.0f;
        } else {
            const float from = pl_abs_f32(at - low);
            const float rest = pl_fmod_f32(from, span);
            const float turns = pl_floor_f32(from / span);
            at = (pl_fmod_f32(turns, 2.0f) == 0.0f) ? (rest + low) : (span - rest + low);
        }
    }
    if (s->padding != 0) {
        at = (at > 0.0f) ? at : 0.0f;
        at = (at < last) ? at : last;
    }
    return ((at > -1.0e9f) && (at < 1.0e9f)) ? at : -100.0f; /* what no integer can hold lies far outside */
}

/* Pixels from the left border for a coordinate of the grid. */
static inline float pl_grid_at(const pl_grid_sample_t *s, float at, int32_t size)
{
    return (s->align_corners != 0) ? ((at + 1.0f) / 2.0f * pl_float(size - 1))
                                   : ((((at + 1.0f) * (float)size) - 1.0f) / 2.0f);
}

/* One element of x, zero where it lies outside. */
static inline float pl_grid_pixel(const pl_grid_sample_t *s, const float *x, int32_t z, int32_t y, int32_t w)
{
    const bool inside = (z >= 0) && (z < s->d) && (y >= 0) && (y < s->h) && (w >= 0) && (w < s->w);
    return inside ? x[((((z * s->h) + y) * s->w) + w) * s->c] : 0.0f;
}

static inline float pl_grid_cubic(const pl_grid_sample_t *s, const float *x, const float *at)
{
    float wx[4];
    float wy[4];
    const float fx = pl_floor_f32(at[0]);
    const float fy = pl_floor_f32(at[1]);
    float sum = 0.0f;
    pl_cubic_weights(at[0] - fx, wx);
    pl_cubic_weights(at[1] - fy, wy);
    for (int32_t r = 0; r < 4; r++) {
        const int32_t row = (int32_t)pl_grid_inside(s, fy + pl_float(r - 1), s->h);
        float line = 0.0f;
        for (int32_t q = 0; q < 4; q++) {
            line += wx[q] * pl_grid_pixel(s, x, 0, row, (int32_t)pl_grid_inside(s, fx + pl_float(q - 1), s->w));
        }
        sum += wy[r] * line;
    }
    return sum;
}

static inline float pl_grid_linear(const pl_grid_sample_t *s, const float *x, const float *at)
{
    const float fx = pl_floor_f32(at[0]);
    const float fy = pl_floor_f32(at[1]);
    const float fz = pl_floor_f32(at[2]);
    float sum = 0.0f;
    for (int32_t corner = 0; corner < 8; corner++) {
        const int32_t dx = corner & 1;
        const int32_t dy = pl_shr(corner, 1) & 1;
        const int32_t dz = pl_shr(corner, 2);
        const float wx = (dx != 0) ? (at[0] - fx) : (fx + 1.0f - at[0]);
        const float wy = (dy != 0) ? (at[1] - fy) : (fy + 1.0f - at[1]);
        const float wz = (dz != 0) ? (at[2] - fz) : (fz + 1.0f - at[2]);
        sum += wx * wy * wz * pl_grid_pixel(s, x, (int32_t)fz + dz, (int32_t)fy + dy, (int32_t)fx + dx);
    }
    return sum;
}

static inline float pl_grid_nearest(const pl_grid_sample_t *s, const float *x, const float *at)
{
    const int32_t z = (int32_t)pl_round_f32(at[2]);
    return pl_grid_pixel(s, x, z, (int32_t)pl_round_f32(at[1]), (int32_t)pl_round_f32(at[0]));
}

static inline void pl_grid_sample_f32(const pl_grid_sample_t *s, const float *x_start, const float *grid_start,
                                      float *y_start)
{
    const float *x = x_start;
    const float *grid = grid_start;
    float *y = y_start;
    const int32_t sizes[3] = {s->w, s->h, s->d};
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t p = 0; p < s->points; p++) {
            float at[3] = {0.0f, 0.0f, 0.0f};
            for (int32_t k = 0; k < s->dims; k++) {
                at[k] = pl_grid_at(s, grid[k], sizes[k]);
                if (s->mode != 2) {
                    at[k] = pl_grid_inside(s, at[k], sizes[k]);
                }
            }
            for (int32_t c = 0; c < s->c; c++) {
                *y = (s->mode == 0)   ? pl_grid_linear(s, x + c, at)
                     : (s->mode == 1) ? pl_grid_nearest(s, x + c, at)
                                      : pl_grid_cubic(s, x + c, at);
                y++;
            }
            grid = &grid[s->dims];
        }
        x = &x[s->d * s->h * s->w * s->c];
    }
}

#endif
