#ifndef PL_Q_NORM_H
#define PL_Q_NORM_H

#include "integer.h"
#include "q_clamp.h"
#include "rhmul.h"

/* Layer norm and rms norm of rows of int8. */
typedef struct {
    int32_t rows;
    int32_t n;
    int32_t center;  // subtract the mean; else `zero`
    int32_t zero;    // the zero point of x, 0 with center
    uint32_t eps_hi; // eps * n^2 / scale^2 * 2^16
    uint32_t eps_lo;
    int32_t up;       // a power of two for the deviations, which then still fit 32 bits
    int32_t shift;    // of a normalized number, besides what its row needs
    int32_t fraction; // fraction bits of w and b
    int32_t lo;
    int32_t hi;
} pl_q_norm_t;

/* 1 / sqrt(v) as r * 2^-(31 + j), 2^15 <= r <= 2^16. */
typedef struct {
    int32_t r;
    int32_t j;
} pl_q_rsqrt_t;

static inline pl_q_rsqrt_t pl_q_rsqrt(uint64_t v_start)
{
    uint64_t v = v_start;
    pl_q_rsqrt_t result = {0, 0};
    uint32_t rest;
    uint32_t root = 0u;
    uint32_t bit = 0x40000000u;
    v = (v != 0u) ? v : 1u;
    while ((v >> 32) != 0u) {
        v >>= 2;
        result.j++;
    }
    while (v < 0x40000000u) {
        v <<= 2;
        result.j--;
    }
    rest = (uint32_t)v;
    for (; bit != 0u; bit >>= 2) { // the integer square root, two bits of v per turn
        if (rest >= (root + bit)) {
            rest -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    root += (rest > root) ? 1u : 0u; // to the nearest
    result.r = pl_signed(0x80000000u / root);
    return result;
}

/* x (rows, n) -> y: deviations d = n * v - sum, normalized z = d / sqrt(n * squares - sum^2 + eps), then
 * clamp((rhmul(z, w) + b) >> fraction). w and b (n). Row by row; y may be x. */
static inline void pl_q_norm(const pl_q_norm_t *s, const int8_t *x_start, const int32_t *w, const int32_t *b,
                             int8_t *y_start)
{
    const int8_t *x = x_start;
    int8_t *y = y_start;
    const int32_t n = s->n;
    for (int32_t row = 0; row < s->rows; row++) {
        int32_t sum = 0;
        int32_t shift;
        uint32_t squares = 0u;
        uint64_t spread;
        pl_q_rsqrt_t inverse;
        for (int32_t k = 0; k < n; k++) {
            const int32_t v = x[k] - s->zero;
            sum += v;
            squares += pl_unsigned(v * v);
        }
        sum = (s->center != 0) ? sum : 0;
        spread = ((uint64_t)squares * (uint32_t)n) - pl_unsigned64((int64_t)sum * sum);
        spread = (spread << 16) + (((uint64_t)s->eps_hi << 32) | s->eps_lo);
        inverse = pl_q_rsqrt(spread);
        shift = inverse.j + s->shift;
        for (int32_t k = 0; k < n; k++) {
            const int32_t d = (n * (x[k] - s->zero)) - sum;
            const int32_t t = pl_rhmul(d * s->up, inverse.r * 16384);
            const int32_t z = (shift > 0) ? pl_shr_by(t + pl_signed(1u << pl_unsigned(shift - 1)), shift)
                                          : (t * pl_signed(1u << pl_unsigned(-shift)));
            y[k] = (int8_t)pl_q_clamp(pl_shr_by(pl_rhmul(z, w[k]) + b[k], s->fraction), s->lo, s->hi);
        }
        x = &x[n];
        y = &y[n];
    }
}

#endif
