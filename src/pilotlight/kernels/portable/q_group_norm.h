#ifndef PL_Q_GROUP_NORM_H
#define PL_Q_GROUP_NORM_H

#include "integer.h"
#include "q_norm.h"
#include "rhmul.h"

/* Group norm of int8, channels last: `norm.rows` samples, and norm.n = pixels * channels / groups numbers share a
 * mean and a spread. */
typedef struct {
    pl_q_norm_t norm;
    int32_t pixels;
    int32_t channels;
    int32_t groups;
} pl_q_group_norm_t;

/* What normalizes one group. */
typedef struct {
    int32_t sum;
    int32_t r;
    int32_t shift;
} pl_q_group_t;

/* x (samples, pixels, channels) -> y, w and b (channels), scratch (groups). The statistics of a sample first, then
 * its numbers in order; y may be x. */
static inline void pl_q_group_norm(const pl_q_group_norm_t *g, const int8_t *x_start, const int32_t *w,
                                   const int32_t *b, pl_q_group_t *scratch, int8_t *y_start)
{
    const int8_t *x = x_start;
    int8_t *y = y_start;
    const pl_q_norm_t *s = &g->norm;
    const int32_t width = g->channels / g->groups;
    for (int32_t sample = 0; sample < s->rows; sample++) {
        for (int32_t k = 0; k < g->groups; k++) {
            const int8_t *v = x + (k * width); // (pixels, width), `channels` apart
            int32_t sum = 0;
            uint32_t squares = 0u;
            uint64_t spread;
            pl_q_rsqrt_t inverse;
            for (int32_t p = 0; p < g->pixels; p++) {
                for (int32_t c = 0; c < width; c++) {
                    sum += v[c];
                    squares += pl_unsigned(v[c] * v[c]);
                }
                v = &v[g->channels];
            }
            spread = ((uint64_t)squares * (uint32_t)s->n) - pl_unsigned64((int64_t)sum * sum);
            inverse = pl_q_rsqrt((spread << 16) + (((uint64_t)s->eps_hi << 32) | s->eps_lo));
            scratch[k].sum = sum;
            scratch[k].r = inverse.r * 16384;
            scratch[k].shift = inverse.j + s->shift;
        }
        for (int32_t p = 0; p < g->pixels; p++) {
            for (int32_t c = 0; c < g->channels; c++) {
                const pl_q_group_t *of = scratch + (c / width);
                const int32_t t = pl_rhmul(((s->n * x[c]) - of->sum) * s->up, of->r);
                const int32_t z = (of->shift > 0)
                                      ? pl_shr_by(t + pl_signed(1u << pl_unsigned(of->shift - 1)), of->shift)
                                      : (t * pl_signed(1u << pl_unsigned(-of->shift)));
                y[c] = (int8_t)pl_q_clamp(pl_shr_by(pl_rhmul(z, w[c]) + b[c], s->fraction), s->lo, s->hi);
            }
            x = &x[g->channels];
            y = &y[g->channels];
        }
    }
}

#endif
