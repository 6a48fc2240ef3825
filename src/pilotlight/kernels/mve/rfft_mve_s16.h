#ifndef PL_RFFT_MVE_S16_H
#define PL_RFFT_MVE_S16_H

#include <stdint.h>

#include "integer.h"
#include "mem.h"
#include "q_clamp.h"
#include "rfft_s16.h"

/* The steps of the int16 transform with Helium: four complex numbers in a vector. What does not come in fours, and
 * everything on cores without Helium and with PILOTLIGHT_PORTABLE, is computed by the C of rfft_s16.h; the bytes are the
 * same. */
#if !defined(PILOTLIGHT_PORTABLE) && defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#define PL_FFT_MVE 1
#else
#define PL_FFT_MVE 0
#endif

#if PL_FFT_MVE
/* Squared magnitudes. */
static inline uint32x4_t pl_fft_square_mve(int16x8_t v)
{
    return vreinterpretq_u32_s32(vaddq_s32(vmullbq_int_s16(v, v), vmulltq_int_s16(v, v)));
}

/* Only the number of bits of a size counts: the largest has as many as all or-ed. */
static inline uint32x4_t pl_fft_sized_mve(uint32x4_t size, int16x8_t v)
{
    return vmaxq_u32(size, pl_fft_square_mve(v));
}

static inline uint32_t pl_fft_size_mve(uint32x4_t size) { return vmaxvq_u32(0u, size) + (uint32_t)PL_FFT_MARGIN; }

/* v * w / 2^15, rounded. */
static inline int16x8_t pl_fft_times_mve(int16x8_t v, int16x8_t w)
{
    return vqrdmladhxq_s16(vqrdmlsdhq_s16(v, v, w), v, w);
}

/* One factor in every place. */
static inline int16x8_t pl_fft_factor_mve(const int16_t *w)
{
    return vreinterpretq_s16_u32(vdupq_n_u32(*(const pl_word *)(const void *)w));
}

/* The four results of four points. */
typedef struct {
    int16x8_t y0;
    int16x8_t y1;
    int16x8_t y2;
    int16x8_t y3;
} pl_fft4_mve_t;

static inline pl_fft4_mve_t pl_fft4_points_mve(const int16_t *x, int32_t leg, uint32_t down)
{
    const int16x8_t a = vldrhq_s16(x);
    const int16x8_t b = vldrhq_s16(&x[leg]);
    const int16x8_t c = vldrhq_s16(&x[2 * leg]);
    const int16x8_t d = vldrhq_s16(&x[3 * leg]);
    const int16x8_t s0 = (down == 2u) ? vhaddq_s16(a, c) : vaddq_s16(a, c);
    const int16x8_t s1 = (down == 2u) ? vhsubq_s16(a, c) : vsubq_s16(a, c);
    const int16x8_t s2 = (down == 2u) ? vhaddq_s16(b, d) : vaddq_s16(b, d);
    const int16x8_t s3 = (down == 2u) ? vhsubq_s16(b, d) : vsubq_s16(b, d);
    pl_fft4_mve_t v;
    v.y0 = (down == 0u) ? vaddq_s16(s0, s2) : vrhaddq_s16(s0, s2);
    v.y1 = (down == 0u) ? vcaddq_rot270_s16(s1, s3) : vhcaddq_rot270_s16(s1, s3);
    v.y2 = (down == 0u) ? vsubq_s16(s0, s2) : vhsubq_s16(s0, s2);
    v.y3 = (down == 0u) ? vcaddq_rot90_s16(s1, s3) : vhcaddq_rot90_s16(s1, s3);
    return v;
}

/* Rows of one number each, four rows at a time: every row has its own factors, the first none. */
static inline uint32_t pl_fft4_first_mve(const pl_fft_s16_t *t, uint32_t down)
{
    const int32_t *w = (const int32_t *)(const void *)t->w;
    uint32x4_t row = vidupq_n_u32(0u, 1);
    uint32x4_t size = vdupq_n_u32(0u);
    for (int32_t p = 0; p < t->m; p += 4) {
        const mve_pred16_t turned = vcmpneq_n_u32(row, 0u);
        const uint32x4_t at = vqsubq_n_u32(vmulq_n_u32(row, 3u), 3u);
        pl_fft4_mve_t v = pl_fft4_points_mve(&t->x[2 * p], 2 * t->m, down);
        const int16x8_t w1 = vreinterpretq_s16_s32(vldrwq_gather_shifted_offset_s32(w, at));
        const int16x8_t w2 = vreinterpretq_s16_s32(vldrwq_gather_shifted_offset_s32(&w[1], at));
        const int16x8_t w3 = vreinterpretq_s16_s32(vldrwq_gather_shifted_offset_s32(&w[2], at));
        int32x4x4_t y;
        v.y1 = vpselq_s16(pl_fft_times_mve(v.y1, w1), v.y1, turned);
        v.y2 = vpselq_s16(pl_fft_times_mve(v.y2, w2), v.y2, turned);
        v.y3 = vpselq_s16(pl_fft_times_mve(v.y3, w3), v.y3, turned);
        size = pl_fft_sized_mve(pl_fft_sized_mve(size, v.y0), v.y1);
        size = pl_fft_sized_mve(pl_fft_sized_mve(size, v.y2), v.y3);
        y.val[0] = vreinterpretq_s32_s16(v.y0);
        y.val[1] = vreinterpretq_s32_s16(v.y1);
        y.val[2] = vreinterpretq_s32_s16(v.y2);
        y.val[3] = vreinterpretq_s32_s16(v.y3);
        vst4q_s32((int32_t *)(void *)&t->y[8 * p], y);
        row = vaddq_n_u32(row, 4u);
    }
    return pl_fft_size_mve(size);
}

/* Rows of a multiple of four numbers. */
static inline uint32_t pl_fft4_rows_mve(const pl_fft_s16_t *t, uint32_t down)
{
    const int32_t leg = 2 * t->m * t->s;
    const int32_t step = 2 * t->s;
    const int16_t *x = t->x;
    int16_t *y = t->y;
    uint32x4_t size = vdupq_n_u32(0u);
    for (int32_t q = 0; q < t->s; q += 4) {
        const pl_fft4_mve_t v = pl_fft4_points_mve(x, leg, down);
        size = pl_fft_sized_mve(pl_fft_sized_mve(size, v.y0), v.y1);
        size = pl_fft_sized_mve(pl_fft_sized_mve(size, v.y2), v.y3);
        vstrhq_s16(y, v.y0);
        vstrhq_s16(&y[step], v.y1);
        vstrhq_s16(&y[2 * step], v.y2);
        vstrhq_s16(&y[3 * step], v.y3);
        x = &x[8];
        y = &y[8];
    }
    for (int32_t p = 1; p < t->m; p++) {
        const int16_t *w = &t->w[6 * (p - 1)];
        const int16x8_t w1 = pl_fft_factor_mve(w);
        const int16x8_t w2 = pl_fft_factor_mve(&w[2]);
        const int16x8_t w3 = pl_fft_factor_mve(&w[4]);
        y = &y[3 * step];
        for (int32_t q = 0; q < t->s; q += 4) {
            const pl_fft4_mve_t v = pl_fft4_points_mve(x, leg, down);
            const int16x8_t y1 = pl_fft_times_mve(v.y1, w1);
            const int16x8_t y2 = pl_fft_times_mve(v.y2, w2);
            const int16x8_t y3 = pl_fft_times_mve(v.y3, w3);
            size = pl_fft_sized_mve(pl_fft_sized_mve(size, v.y0), y1);
            size = pl_fft_sized_mve(pl_fft_sized_mve(size, y2), y3);
            vstrhq_s16(y, v.y0);
            vstrhq_s16(&y[step], y1);
            vstrhq_s16(&y[2 * step], y2);
            vstrhq_s16(&y[3 * step], y3);
            x = &x[8];
            y = &y[8];
        }
    }
    return pl_fft_size_mve(size);
}

static inline uint32_t pl_fft4_any_mve(const pl_fft_s16_t *t, uint32_t down)
{
    return (t->s == 1) ? pl_fft4_first_mve(t, down) : pl_fft4_rows_mve(t, down);
}

/* The last stage, without factors. */
static inline uint32_t pl_fft2_last_mve(const pl_fft_s16_t *t, uint32_t down)
{
    const int32_t leg = 2 * t->s;
    uint32x4_t size = vdupq_n_u32(0u);
    for (int32_t i = 0; i < leg; i += 8) {
        const int16x8_t a = vldrhq_s16(&t->x[i]);
        const int16x8_t b = vldrhq_s16(&t->x[leg + i]);
        const int16x8_t sum = (down == 0u) ? vaddq_s16(a, b) : vrhaddq_s16(a, b);
        const int16x8_t rest = (down == 0u) ? vsubq_s16(a, b) : vhsubq_s16(a, b);
        size = pl_fft_sized_mve(pl_fft_sized_mve(size, sum), rest);
        vstrhq_s16(&t->y[i], sum);
        vstrhq_s16(&t->y[leg + i], rest);
    }
    return pl_fft_size_mve(size);
}

/* Four pairs of bins at a time; returns the first that is left. */
static inline int32_t pl_fft_pairs_mve(const pl_fft_s16_t *t, uint32_t down)
{
    const uint32x4_t back = vddupq_n_u32(3u, 1);
    const mve_pred16_t real = vcmpneq_n_s16(vreinterpretq_s16_u32(vdupq_n_u32(1u)), 0);
    int32_t k = 1;
    while ((2 * (k + 3)) < t->m) {
        const int32_t mirror = 2 * (t->m - k - 3);
        const int16x8_t a = vldrhq_s16(&t->x[2 * k]);
        const int32_t *from = (const int32_t *)(const void *)&t->x[mirror];
        const int16x8_t b = vreinterpretq_s16_s32(vldrwq_gather_shifted_offset_s32(from, back));
        const int16x8_t sum = (down == 0u) ? vaddq_s16(a, b) : vhaddq_s16(a, b);
        const int16x8_t rest = (down == 0u) ? vsubq_s16(a, b) : vhsubq_s16(a, b);
        const int16x8_t odd = vpselq_s16(rest, sum, real);
        const int16x8_t turned = pl_fft_times_mve(odd, vldrhq_s16(&t->w[2 * (k - 1)]));
        const int16x8_t one = vpselq_s16(sum, turned, real);
        const int16x8_t two = vpselq_s16(turned, rest, real);
        vstrhq_s16(&t->y[2 * k], vhaddq_s16(one, two));
        vstrwq_scatter_shifted_offset_s32((int32_t *)(void *)&t->y[mirror], back,
                                          vreinterpretq_s32_s16(vhsubq_s16(one, two)));
        k += 4;
    }
    return k;
}
#endif

PL_Q_APART void pl_fft4_mve_s16(pl_fft_s16_t *t)
{
#if PL_FFT_MVE
    const int32_t fours = (t->s == 1) ? t->m : t->s;
    if ((fours & 3) == 0) {
        if (t->shift == 0) {
            t->size = pl_fft4_any_mve(t, 0u);
        } else if (t->shift == 1) {
            t->size = pl_fft4_any_mve(t, 1u);
        } else {
            t->size = pl_fft4_any_mve(t, 2u);
        }
    } else {
        pl_fft4_s16(t);
    }
#else
    pl_fft4_s16(t);
#endif
}

PL_Q_APART void pl_fft2_mve_s16(pl_fft_s16_t *t)
{
#if PL_FFT_MVE
    if ((t->m == 1) && ((t->s & 3) == 0)) {
        t->size = (t->shift == 0) ? pl_fft2_last_mve(t, 0u) : pl_fft2_last_mve(t, 1u);
    } else {
        pl_fft2_s16(t);
    }
#else
    pl_fft2_s16(t);
#endif
}

PL_Q_APART void pl_fft_points_mve_s16(pl_fft_s16_t *t)
{
#if PL_FFT_MVE
    const int32_t n = 2 * t->m;
    const int32_t whole = n & ~7;
    const mve_pred16_t rest = vctp16q(pl_unsigned(n - whole)); // after the last whole vector
    uint32x4_t size = pl_fft_square_mve(vldrhq_z_s16(&t->x[whole], rest));
    uint32_t largest;
    int32_t up;
    for (int32_t i = 0; i < whole; i += 8) {
        size = pl_fft_sized_mve(size, vldrhq_s16(&t->x[i]));
    }
    largest = vmaxvq_u32(0u, size);
    up = pl_fft_up_s16(t, largest + (largest >> 9));
    for (int32_t i = 0; i < whole; i += 8) {
        vstrhq_s16(&t->y[i], vrshlq_n_s16(vldrhq_s16(&t->x[i]), up));
    }
    vstrhq_p_s16(&t->y[whole], vrshlq_n_s16(vldrhq_z_s16(&t->x[whole], rest), up), rest);
#else
    pl_fft_points_s16(t);
#endif
}

PL_Q_APART void pl_fft_apart_mve_s16(pl_fft_s16_t *t)
{
#if PL_FFT_MVE
    if (t->shift == 0) {
        pl_fft_bins_s16(t, pl_fft_pairs_mve(t, 0u), 0u);
    } else {
        pl_fft_bins_s16(t, pl_fft_pairs_mve(t, 1u), 1u);
    }
#else
    pl_fft_apart_s16(t);
#endif
}

#endif
