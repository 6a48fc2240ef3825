#ifndef PL_Q_NORM_S16_H
#define PL_Q_NORM_S16_H

#include "integer.h"
#include "q_norm.h"
#include "rhmul.h"

/* x (rows, n) -> y as in pl_q_norm; the sums have 64 bits, and eps has no fraction bits. */
static inline void pl_q_norm_s16(const pl_q_norm_t *s, const int16_t *x_start, const int32_t *w, const int32_t *b,
                                 int16_t *y_start)
{
    const int16_t *x = x_start;
    int16_t *y = y_start;
    const int32_t n = s->n;
    for (int32_t row = 0; row < s->rows; row++) {
        int32_t sum = 0;
        int32_t shift;
        uint64_t squares = 0u;
        uint64_t spread;
        pl_q_rsqrt_t inverse;
        for (int32_t k = 0; k < n; k++) {
            sum += x[k];
            squares += pl_unsigned(x[k] * x[k]);
        }
        sum = (s->center != 0) ? sum : 0;
        spread =
            (squares * (uint32_t)n) - pl_unsigned64((int64_t)sum * sum) + (((uint64_t)s->eps_hi << 32) | s->eps_lo);
        inverse = pl_q_rsqrt(spread);
        shift = inverse.j + s->shift;
        for (int32_t k = 0; k < n; k++) {
            const int32_t t = pl_rhmul(((n * x[k]) - sum) * s->up, inverse.r * 16384);
            const int32_t z = (shift > 0) ? pl_shr_by(t + pl_signed(1u << pl_unsigned(shift - 1)), shift)
                                          : (t * pl_signed(1u << pl_unsigned(-shift)));
            y[k] = (int16_t)pl_q_clamp(pl_shr_by(pl_rhmul(z, w[k]) + b[k], s->fraction), s->lo, s->hi);
        }
        x = &x[n];
        y = &y[n];
    }
}

#endif
