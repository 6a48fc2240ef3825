#ifndef PL_RFFT_S16_H
#define PL_RFFT_S16_H

#include <stdint.h>

#include "integer.h"
#include "q_clamp.h"

/* The transform of rows of n 16-bit samples to n / 2 + 1 complex bins with one exponent a row: bin = y * 2^exponent.
 * Complex numbers are pairs of int16. The samples are taken as n / 2 complex points, which stages of radix 4, 2, 5 and 3
 * transform from one buffer into the other; their results are then taken apart. Before each stage the numbers are
 * shifted right as far as the largest of them needs. ops/fft/int16.py states the formula. */
typedef struct {
    int32_t rows;
    int32_t n; // even
} pl_rfft_s16_t;

/* One stage: m times s transforms of r points each, y[p][j][q] = W^(p j) * sum over i of x[i][p][q] * turn^(i j). The
 * assembly knows the order of fields. */
typedef struct {
    const int16_t *x; // (r, m, s, 2)
    const int16_t *w; // (m - 1, r - 1, 2): the factors of all p but the first
    int16_t *y;       // (m, r, s, 2)
    int32_t m;
    int32_t s;
    int32_t shift; // the results are divided by 2^shift
    uint32_t size; // written: the squared magnitudes of all results, each with PL_FFT_MARGIN, or-ed together
} pl_fft_s16_t;

/* The stages as blocks, written for each model: assembly, or the C below. */
static inline void pl_fft_load_s16(pl_fft_s16_t *t);
static inline void pl_fft_radix4_s16(pl_fft_s16_t *t);
static inline void pl_fft_radix2_s16(pl_fft_s16_t *t);
static inline void pl_fft_split_s16(pl_fft_s16_t *t);

#define PL_FFT_MARGIN 524288 // keeps 16 steps below each power of two for what rounding adds
#define PL_FFT_HALF 16384    // of the lowest bit that remains of a product

/* Inlined wherever it is called, so that shifts are constants. */
#if defined(__GNUC__)
#define PL_FFT_INLINE static inline __attribute__((__always_inline__))
#else
#define PL_FFT_INLINE static inline
#endif

/* A complex number in 32 bits. */
typedef struct {
    int32_t re;
    int32_t im;
} pl_complex_s16_t;

PL_FFT_INLINE pl_complex_s16_t pl_complex_s16(const int16_t *x)
{
    const pl_complex_s16_t v = {x[0], x[1]};
    return v;
}

PL_FFT_INLINE pl_complex_s16_t pl_fft_add_s16(pl_complex_s16_t a, pl_complex_s16_t b, uint32_t down)
{
    const pl_complex_s16_t v = {pl_shr(a.re + b.re, down), pl_shr(a.im + b.im, down)};
    return v;
}

PL_FFT_INLINE pl_complex_s16_t pl_fft_sub_s16(pl_complex_s16_t a, pl_complex_s16_t b, uint32_t down)
{
    const pl_complex_s16_t v = {pl_shr(a.re - b.re, down), pl_shr(a.im - b.im, down)};
    return v;
}

/* a - i b, and with b negative a + i b. */
PL_FFT_INLINE pl_complex_s16_t pl_fft_turn_s16(pl_complex_s16_t a, pl_complex_s16_t b, uint32_t down)
{
    const pl_complex_s16_t v = {pl_shr(a.re + b.im, down), pl_shr(a.im - b.re, down)};
    return v;
}

/* v * w / 2^15, rounded. */
PL_FFT_INLINE pl_complex_s16_t pl_fft_times_s16(pl_complex_s16_t v, const int16_t *w)
{
    const int32_t re = w[0];
    const int32_t im = w[1];
    const pl_complex_s16_t y = {pl_shr((v.re * re) - (v.im * im) + PL_FFT_HALF, 15),
                                pl_shr((v.re * im) + (v.im * re) + PL_FFT_HALF, 15)};
    return y;
}

/* Writes a result and returns its squared magnitude. */
PL_FFT_INLINE uint32_t pl_fft_put_s16(int16_t *y, pl_complex_s16_t v)
{
    y[0] = (int16_t)v.re;
    y[1] = (int16_t)v.im;
    return pl_unsigned((v.re * v.re) + (v.im * v.im) + PL_FFT_MARGIN);
}

/* The same, multiplied by a factor unless `turned` is 0. */
PL_FFT_INLINE uint32_t pl_fft_put_times_s16(int16_t *y, pl_complex_s16_t v, const int16_t *w, int32_t turned)
{
    return pl_fft_put_s16(y, (turned != 0) ? pl_fft_times_s16(v, w) : v);
}

/* s transforms of four points with one set of factors, or none; `down` is t->shift, known where this is compiled. The sum
 * of all four is rounded up, since it has lost twice. */
PL_FFT_INLINE uint32_t pl_fft4_row_s16(const pl_fft_s16_t *t, const int16_t *x_start, const int16_t *w, int32_t turned,
                                       int16_t *y_start, uint32_t down)
{
    const uint32_t first = down / 2u;
    const uint32_t second = (down + 1u) / 2u;
    const int32_t up = pl_signed(second);
    const int32_t leg = 2 * t->m * t->s;
    const int32_t step = 2 * t->s;
    const int16_t *x = x_start;
    int16_t *y = y_start;
    uint32_t size = 0u;
    for (int32_t left = t->s; left > 0; left--) {
        const pl_complex_s16_t a = pl_complex_s16(x);
        const pl_complex_s16_t b = pl_complex_s16(&x[leg]);
        const pl_complex_s16_t c = pl_complex_s16(&x[2 * leg]);
        const pl_complex_s16_t d = pl_complex_s16(&x[3 * leg]);
        const pl_complex_s16_t s0 = pl_fft_add_s16(a, c, first);
        const pl_complex_s16_t s1 = pl_fft_sub_s16(a, c, first);
        const pl_complex_s16_t s2 = pl_fft_add_s16(b, d, first);
        const pl_complex_s16_t s3 = pl_fft_sub_s16(b, d, first);
        const pl_complex_s16_t s3_negative = {-s3.re, -s3.im};
        const pl_complex_s16_t s2_up = {s2.re + up, s2.im + up};
        size |= pl_fft_put_s16(y, pl_fft_add_s16(s0, s2_up, second));
        size |= pl_fft_put_times_s16(&y[step], pl_fft_turn_s16(s1, s3, second), w, turned);
        size |= pl_fft_put_times_s16(&y[2 * step], pl_fft_sub_s16(s0, s2, second), &w[2 * turned], turned);
        size |= pl_fft_put_times_s16(&y[3 * step], pl_fft_turn_s16(s1, s3_negative, second), &w[4 * turned], turned);
        x = &x[2];
        y = &y[2];
    }
    return size;
}

/* All p: the first without factors. */
PL_FFT_INLINE uint32_t pl_fft4_rows_s16(const pl_fft_s16_t *t, uint32_t down)
{
    uint32_t size = pl_fft4_row_s16(t, t->x, t->w, 0, t->y, down);
    for (int32_t p = 1; p < t->m; p++) {
        const int32_t at = 2 * p * t->s;
        size |= pl_fft4_row_s16(t, &t->x[at], &t->w[6 * (p - 1)], 1, &t->y[4 * at], down);
    }
    return size;
}

PL_Q_APART void pl_fft4_s16(pl_fft_s16_t *t)
{
    if (t->shift == 0) {
        t->size = pl_fft4_rows_s16(t, 0u);
    } else if (t->shift == 1) {
        t->size = pl_fft4_rows_s16(t, 1u);
    } else {
        t->size = pl_fft4_rows_s16(t, 2u);
    }
}

/* Sums are rounded up, differences down. */
PL_FFT_INLINE uint32_t pl_fft2_rows_s16(const pl_fft_s16_t *t, uint32_t down)
{
    const int32_t leg = 2 * t->m * t->s;
    const int32_t step = 2 * t->s;
    const int16_t *x = t->x;
    const int16_t *w = t->w;
    int16_t *y = t->y;
    uint32_t size = 0u;
    for (int32_t p = 0; p < t->m; p++) {
        const int32_t turned = (p > 0) ? 1 : 0;
        for (int32_t left = t->s; left > 0; left--) {
            const pl_complex_s16_t a = pl_complex_s16(x);
            const pl_complex_s16_t b = pl_complex_s16(&x[leg]);
            const pl_complex_s16_t b_up = {b.re + pl_signed(down), b.im + pl_signed(down)};
            size |= pl_fft_put_s16(y, pl_fft_add_s16(a, b_up, down));
            size |= pl_fft_put_times_s16(&y[step], pl_fft_sub_s16(a, b, down), w, turned);
            x = &x[2];
            y = &y[2];
        }
        w = &t->w[2 * p];
        y = &y[step];
    }
    return size;
}

PL_Q_APART void pl_fft2_s16(pl_fft_s16_t *t)
{
    t->size = (t->shift == 0) ? pl_fft2_rows_s16(t, 0u) : pl_fft2_rows_s16(t, 1u);
}

#define PL_FFT3_SIN 14189 // sin(2 pi / 3) * 2^14
#define PL_FFT5_COS1 2531 // cos(2 pi / 5) * 2^13, sin(2 pi / 5) * 2^13, the same of 4 pi / 5
#define PL_FFT5_SIN1 7791
#define PL_FFT5_COS2 (-6627)
#define PL_FFT5_SIN2 4815

/* v / 2^down, rounded. */
static inline int32_t pl_fft_down_s16(int32_t v, int32_t down)
{
    const int32_t half = pl_signed((1u << (uint32_t)down) >> 1);
    return pl_shr_by(v + half, down);
}

/* a + b and a - b as results j and r - j, divided by 2^down and multiplied by their factors, if any. */
static inline uint32_t pl_fft_pair_s16(pl_complex_s16_t a, pl_complex_s16_t b, int32_t down, int16_t *plus,
                                       int16_t *minus, const int16_t *w_plus, const int16_t *w_minus, int32_t turned)
{
    const pl_complex_s16_t sum = {pl_fft_down_s16(a.re + b.re, down), pl_fft_down_s16(a.im + b.im, down)};
    const pl_complex_s16_t rest = {pl_fft_down_s16(a.re - b.re, down), pl_fft_down_s16(a.im - b.im, down)};
    return pl_fft_put_times_s16(plus, sum, w_plus, turned) | pl_fft_put_times_s16(minus, rest, w_minus, turned);
}

PL_Q_APART void pl_fft3_s16(pl_fft_s16_t *t)
{
    const int32_t leg = 2 * t->m * t->s;
    const int32_t step = 2 * t->s;
    const int16_t *x = t->x;
    const int16_t *w = t->w;
    int16_t *y = t->y;
    uint32_t size = 0u;
    for (int32_t p = 0; p < t->m; p++) {
        const int32_t turned = (p > 0) ? 1 : 0;
        for (int32_t left = t->s; left > 0; left--) {
            const pl_complex_s16_t a = pl_complex_s16(x);
            const pl_complex_s16_t b = pl_complex_s16(&x[leg]);
            const pl_complex_s16_t c = pl_complex_s16(&x[2 * leg]);
            const pl_complex_s16_t sum = pl_fft_add_s16(b, c, 0u);
            const pl_complex_s16_t rest = pl_fft_sub_s16(b, c, 0u);
            const pl_complex_s16_t total = {pl_fft_down_s16(a.re + sum.re, t->shift),
                                            pl_fft_down_s16(a.im + sum.im, t->shift)};
            const pl_complex_s16_t even = {(a.re * 16384) - (sum.re * 8192), (a.im * 16384) - (sum.im * 8192)};
            const pl_complex_s16_t odd = {PL_FFT3_SIN * rest.im, -PL_FFT3_SIN * rest.re};
            size |= pl_fft_put_s16(y, total);
            size |= pl_fft_pair_s16(even, odd, t->shift + 14, &y[step], &y[2 * step], w, &w[2 * turned], turned);
            x = &x[2];
            y = &y[2];
        }
        w = &t->w[4 * p];
        y = &y[2 * step];
    }
    t->size = size;
}

PL_Q_APART void pl_fft5_s16(pl_fft_s16_t *t)
{
    const int32_t leg = 2 * t->m * t->s;
    const int32_t step = 2 * t->s;
    const int16_t *x = t->x;
    const int16_t *w = t->w;
    int16_t *y = t->y;
    uint32_t size = 0u;
    for (int32_t p = 0; p < t->m; p++) {
        const int32_t turned = (p > 0) ? 1 : 0;
        for (int32_t left = t->s; left > 0; left--) {
            const pl_complex_s16_t a = pl_complex_s16(x);
            const pl_complex_s16_t b = pl_complex_s16(&x[leg]);
            const pl_complex_s16_t c = pl_complex_s16(&x[2 * leg]);
            const pl_complex_s16_t d = pl_complex_s16(&x[3 * leg]);
            const pl_complex_s16_t e = pl_complex_s16(&x[4 * leg]);
            const pl_complex_s16_t t1 = pl_fft_add_s16(b, e, 0u);
            const pl_complex_s16_t t2 = pl_fft_add_s16(c, d, 0u);
            const pl_complex_s16_t u1 = pl_fft_sub_s16(b, e, 0u);
            const pl_complex_s16_t u2 = pl_fft_sub_s16(c, d, 0u);
            const pl_complex_s16_t total = {pl_fft_down_s16(a.re + t1.re + t2.re, t->shift),
                                            pl_fft_down_s16(a.im + t1.im + t2.im, t->shift)};
            const pl_complex_s16_t even1 = {(a.re * 8192) + (PL_FFT5_COS1 * t1.re) + (PL_FFT5_COS2 * t2.re),
                                            (a.im * 8192) + (PL_FFT5_COS1 * t1.im) + (PL_FFT5_COS2 * t2.im)};
            const pl_complex_s16_t even2 = {(a.re * 8192) + (PL_FFT5_COS2 * t1.re) + (PL_FFT5_COS1 * t2.re),
                                            (a.im * 8192) + (PL_FFT5_COS2 * t1.im) + (PL_FFT5_COS1 * t2.im)};
            const pl_complex_s16_t odd1 = {(PL_FFT5_SIN1 * u1.im) + (PL_FFT5_SIN2 * u2.im),
                                           -((PL_FFT5_SIN1 * u1.re) + (PL_FFT5_SIN2 * u2.re))};
            const pl_complex_s16_t odd2 = {(PL_FFT5_SIN2 * u1.im) - (PL_FFT5_SIN1 * u2.im),
                                           (PL_FFT5_SIN1 * u2.re) - (PL_FFT5_SIN2 * u1.re)};
            const int32_t down = t->shift + 13;
            size |= pl_fft_put_s16(y, total);
            size |= pl_fft_pair_s16(even1, odd1, down, &y[step], &y[4 * step], w, &w[6 * turned], turned);
            size |=
                pl_fft_pair_s16(even2, odd2, down, &y[2 * step], &y[3 * step], &w[2 * turned], &w[4 * turned], turned);
            x = &x[2];
            y = &y[2];
        }
        w = &t->w[8 * p];
        y = &y[4 * step];
    }
    t->size = size;
}

/* The number of bits of v. */
static inline int32_t pl_bits_u32(uint32_t v_start)
{
    uint32_t v = v_start;
    int32_t bits = 0;
    for (int32_t half = 16; half > 0; half = pl_signed((uint32_t)half >> 1)) {
        if ((v >> (uint32_t)half) != 0u) {
            v >>= (uint32_t)half;
            bits += half;
        }
    }
    return bits + pl_signed(v);
}

/* By how many bits samples of this size go up, -1 for down; writes t->shift and t->size for them. */
static inline int32_t pl_fft_up_s16(pl_fft_s16_t *t, uint32_t size)
{
    const int32_t bits = pl_bits_u32(size);
    const int32_t up = (bits > 29) ? -1 : pl_signed(pl_unsigned(29 - bits) >> 1);
    t->shift = -up;
    t->size = 1u << pl_unsigned(bits + (2 * up) - 1);
    return up;
}

/* The samples t->x as points t->y, t->m of them, divided by 2^shift so that every magnitude is below 2^14.5 and the largest
 * is at least a third of that. Writes t->shift, from -14 to 1, and t->size: a magnitude keeps a 1024th of it free. */
PL_Q_APART void pl_fft_points_s16(pl_fft_s16_t *t)
{
    const int32_t n = 2 * t->m;
    uint32_t size = 0u;
    int32_t up;
    for (int32_t i = 0; i < n; i += 2) {
        const int32_t re = t->x[i];
        const int32_t im = t->x[i + 1];
        const uint32_t square = pl_unsigned(re * re) + pl_unsigned(im * im);
        size |= square + (square >> 9);
    }
    up = pl_fft_up_s16(t, size);
    if (up < 0) {
        for (int32_t i = 0; i < n; i++) {
            t->y[i] = (int16_t)pl_shr(t->x[i] + 1, 1u);
        }
    } else {
        const int32_t factor = pl_signed(1u << (uint32_t)up);
        for (int32_t i = 0; i < n; i++) {
            t->y[i] = (int16_t)(t->x[i] * factor);
        }
    }
}

/* From the transform of the points t->x, t->m of them, to the bins t->y of the samples, which may be where the points
 * are: sums and differences of points k and m - k, of which one is turned by the factors t->w. `down` is t->shift. Pairs
 * before `first`, which is 1 or more, are left out. */
PL_FFT_INLINE void pl_fft_bins_s16(const pl_fft_s16_t *t, int32_t first, uint32_t down)
{
    const int32_t m = t->m;
    const pl_complex_s16_t z = pl_complex_s16(t->x);
    const int16_t *w = &t->w[2 * (first - 1)];
    t->y[0] = (int16_t)pl_shr(z.re + z.im, down);
    t->y[1] = 0;
    t->y[2 * m] = (int16_t)pl_shr(z.re - z.im, down);
    t->y[(2 * m) + 1] = 0;
    for (int32_t k = first; (2 * k) < m; k++) {
        const int32_t mirror = 2 * (m - k);
        const pl_complex_s16_t a = pl_complex_s16(&t->x[2 * k]);
        const pl_complex_s16_t b = pl_complex_s16(&t->x[mirror]);
        const pl_complex_s16_t sum = pl_fft_add_s16(a, b, down);
        const pl_complex_s16_t rest = pl_fft_sub_s16(a, b, down);
        const pl_complex_s16_t odd = {rest.re, sum.im};
        const pl_complex_s16_t turned = pl_fft_times_s16(odd, w);
        t->y[2 * k] = (int16_t)pl_shr(sum.re + turned.re, 1u);
        t->y[(2 * k) + 1] = (int16_t)pl_shr(turned.im + rest.im, 1u);
        t->y[mirror] = (int16_t)pl_shr(sum.re - turned.re, 1u);
        t->y[mirror + 1] = (int16_t)pl_shr(turned.im - rest.im, 1u);
        w = &w[2];
    }
    if ((m & 1) == 0) {
        const pl_complex_s16_t middle = pl_complex_s16(&t->x[m]);
        t->y[m] = (int16_t)pl_shr(middle.re, down);
        t->y[m + 1] = (int16_t)pl_shr(-middle.im, down);
    }
}

PL_Q_APART void pl_fft_apart_s16(pl_fft_s16_t *t)
{
    if (t->shift == 0) {
        pl_fft_bins_s16(t, 1, 0u);
    } else {
        pl_fft_bins_s16(t, 1, 1u);
    }
}

/* By how many bits a step that can add `growth` bits has to shift, so that every magnitude stays below 2^15. */
static inline int32_t pl_fft_shift_s16(uint32_t size, int32_t growth)
{
    return pl_q_clamp(pl_shr(pl_bits_u32(size) + 1, 1u) + growth - 15, 0, growth);
}

/* One row; returns its exponent. */
static inline int32_t pl_rfft_row_s16(int32_t n,
                                      const int16_t *x,     // (n)
                                      const int16_t *table, // for each stage its radix, m and factors; those of bins
                                      int16_t *y,           // (n / 2 + 1, 2), may be where x is
                                      int16_t *scratch)     // (n)
{
    const int32_t points = pl_signed((uint32_t)n >> 1);
    const int16_t *w = table;
    pl_fft_s16_t t = {x, w, scratch, points, 1, 0, 0u};
    int32_t exponent;
    pl_fft_load_s16(&t);
    exponent = t.shift;
    t.x = scratch;
    t.y = y;
    while (t.s < points) {
        const int32_t radix = w[0];
        const int16_t *from = t.x;
        t.m = w[1];
        t.w = &w[2];
        w = &t.w[2 * (radix - 1) * (t.m - 1)];
        t.shift = pl_fft_shift_s16(t.size, (radix == 2) ? 1 : ((radix == 5) ? 3 : 2));
        exponent += t.shift;
        if (radix == 4) {
            pl_fft_radix4_s16(&t);
        } else if (radix == 2) {
            pl_fft_radix2_s16(&t);
        } else if (radix == 5) {
            pl_fft5_s16(&t);
        } else {
            pl_fft3_s16(&t);
        }
        t.s *= radix;
        t.x = t.y;
        t.y = (from == scratch) ? scratch : y;
    }
    t.w = w;
    t.y = y;
    t.m = points;
    t.shift = pl_fft_shift_s16(t.size, 1);
    pl_fft_split_s16(&t);
    return exponent + t.shift;
}

static inline void pl_rfft_s16(const pl_rfft_s16_t *s,
                               const int16_t *x,     // (rows, n)
                               const int16_t *table, // as above
                               int16_t *y,           // (rows, n / 2 + 1, 2)
                               int32_t *exponent,    // (rows)
                               int16_t *scratch)     // (n)
{
    for (int32_t row = 0; row < s->rows; row++) {
        exponent[row] = pl_rfft_row_s16(s->n, &x[row * s->n], table, &y[row * (s->n + 2)], scratch);
    }
}

#endif
