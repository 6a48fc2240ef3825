#ifndef PL_Q_COSINE_SIMILARITY_H
#define PL_Q_COSINE_SIMILARITY_H

#include "integer.h"
#include "q_norm.h"
#include "requantize.h"

typedef struct {
    int32_t outer;
    int32_t times;
    int32_t n;
    int32_t inner;
    int32_t zx; // zero points
    int32_t zz;
    int32_t least_x; // eps^2 in squares of steps, at least 1
    int32_t least_z;
    int32_t m;
    pl_requantize_t out;
} pl_q_cosine_similarity_t;

/* x (outer, n, inner) and z (times, n, inner), which repeats -> y (outer, inner): the product of two lanes divided by
 * the root of their squares. A lane is read before its result is written. */
static inline void pl_q_cosine_similarity(const pl_q_cosine_similarity_t *s, const int8_t *x_start, const int8_t *z,
                                          int8_t *y_start)
{
    const int8_t *x = x_start;
    int8_t *y = y_start;
    const int32_t step = s->inner;
    for (int32_t o = 0; o < s->outer; o++) {
        const int8_t *other = z + (o % s->times * s->n * step);
        for (int32_t i = 0; i < step; i++) {
            int32_t dot = 0;
            int32_t xx = 0;
            int32_t zz = 0;
            int32_t shift;
            pl_q_rsqrt_t inverse;
            for (int32_t k = i; k < (s->n * step); k += step) {
                const int32_t a = x[k] - s->zx;
                const int32_t b = other[k] - s->zz;
                dot += a * b;
                xx += a * a;
                zz += b * b;
            }
            xx = (xx < s->least_x) ? s->least_x : xx;
            zz = (zz < s->least_z) ? s->least_z : zz;
            inverse = pl_q_rsqrt((uint64_t)(uint32_t)xx * (uint32_t)zz);
            shift = inverse.j - 14;
            dot = (shift > 0) ? pl_shr_by(dot + pl_signed(1u << pl_unsigned(shift - 1)), shift)
                              : (dot * pl_signed(1u << pl_unsigned(-shift)));
            *y = pl_requantize_s8(&s->out, pl_rhmul(dot, inverse.r * 16384), s->m);
            y++;
        }
        x = &x[s->n * step];
    }
}

#endif
