#ifndef PL_FFT_ANY_F32_H
#define PL_FFT_ANY_F32_H

#include "fft_f32.h"

/* Transforms whose length has factors other than 2. In every stage, of `span` = 1 as well, `w` has radix - 1 factors
 * for each of `span` points. */
static inline void pl_fft_stage3(float *y, const float *w_start, int32_t points, int32_t span)
{
    const float *w = w_start;
    const float sine = 0.866025404f;
    for (int32_t k = 0; k < span; k++) {
        for (int32_t i = k; i < points; i += 3 * span) {
            float *a = &y[2 * i];
            float *b = &a[2 * span];
            float *c = &b[2 * span];
            PL_FFT_TURN(b0, b1, b, w);
            PL_FFT_TURN(c0, c1, c, &w[2]);
            const float s0 = b0 + c0;
            const float s1 = b1 + c1;
            const float d0 = sine * (b0 - c0);
            const float d1 = sine * (b1 - c1);
            const float m0 = a[0] - (0.5f * s0);
            const float m1 = a[1] - (0.5f * s1);
            a[0] += s0;
            a[1] += s1;
            b[0] = m0 + d1;
            b[1] = m1 - d0;
            c[0] = m0 - d1;
            c[1] = m1 + d0;
        }
        w = &w[4];
    }
}

static inline void pl_fft_stage5(float *y, const float *w_start, int32_t points, int32_t span)
{
    const float *w = w_start;
    const float c1 = 0.309016994f;
    const float c2 = -0.809016994f;
    const float s1 = 0.951056516f;
    const float s2 = 0.587785252f;
    for (int32_t k = 0; k < span; k++) {
        for (int32_t i = k; i < points; i += 5 * span) {
            float *a = &y[2 * i];
            float *b = &a[2 * span];
            float *c = &b[2 * span];
            float *d = &c[2 * span];
            float *e = &d[2 * span];
            PL_FFT_TURN(b0, b1, b, w);
            PL_FFT_TURN(g0, g1, c, &w[2]);
            PL_FFT_TURN(d0, d1, d, &w[4]);
            PL_FFT_TURN(e0, e1, e, &w[6]);
            const float p0 = b0 + e0;
            const float p1 = b1 + e1;
            const float q0 = g0 + d0;
            const float q1 = g1 + d1;
            const float u0 = b0 - e0;
            const float u1 = b1 - e1;
            const float v0 = g0 - d0;
            const float v1 = g1 - d1;
            const float m0 = a[0] + (c1 * p0) + (c2 * q0);
            const float m1 = a[1] + (c1 * p1) + (c2 * q1);
            const float n0 = a[0] + (c2 * p0) + (c1 * q0);
            const float n1 = a[1] + (c2 * p1) + (c1 * q1);
            const float r0 = (s1 * u0) + (s2 * v0);
            const float r1 = (s1 * u1) + (s2 * v1);
            const float t0 = (s2 * u0) - (s1 * v0);
            const float t1 = (s2 * u1) - (s1 * v1);
            a[0] += p0 + q0;
            a[1] += p1 + q1;
            b[0] = m0 + r1;
            b[1] = m1 - r0;
            c[0] = n0 + t1;
            c[1] = n1 - t0;
            d[0] = n0 - t1;
            d[1] = n1 + t0;
            e[0] = m0 - r1;
            e[1] = m1 + r0;
        }
        w = &w[8];
    }
}

/* Of any odd radix: `roots` has cosine and sine of its parts of a turn, `scratch` holds `radix` complex numbers: the
 * first point, the sums and the differences of the points that are as far from the first as from the end. */
static inline void pl_fft_stage(float *y, const float *w_start, int32_t points, int32_t span, int32_t radix,
                                const float *roots, float *scratch)
{
    const float *w = w_start;
    const int32_t half = (radix - 1) / 2;
    float *sums = &scratch[2];
    float *differences = &sums[2 * half];
    for (int32_t k = 0; k < span; k++) {
        for (int32_t i = k; i < points; i += radix * span) {
            float *a = &y[2 * i];
            scratch[0] = a[0];
            scratch[1] = a[1];
            for (int32_t j = 0; j < half; j++) {
                const float *p = &a[2 * (j + 1) * span];
                const float *q = &a[2 * (radix - 1 - j) * span];
                PL_FFT_TURN(p0, p1, p, &w[2 * j]);
                PL_FFT_TURN(q0, q1, q, &w[2 * (radix - 2 - j)]);
                sums[2 * j] = p0 + q0;
                sums[(2 * j) + 1] = p1 + q1;
                differences[2 * j] = p0 - q0;
                differences[(2 * j) + 1] = p1 - q1;
                a[0] += p0 + q0;
                a[1] += p1 + q1;
            }
            for (int32_t m = 1; m <= half; m++) {
                float m0 = scratch[0];
                float m1 = scratch[1];
                float d0 = 0.0f;
                float d1 = 0.0f;
                int32_t turn = 0;
                for (int32_t j = 0; j < half; j++) {
                    turn += m;
                    turn -= (turn >= radix) ? radix : 0;
                    m0 += roots[2 * turn] * sums[2 * j];
                    m1 += roots[2 * turn] * sums[(2 * j) + 1];
                    d0 += roots[(2 * turn) + 1] * differences[2 * j];
                    d1 += roots[(2 * turn) + 1] * differences[(2 * j) + 1];
                }
                float *p = &a[2 * m * span];
                float *q = &a[2 * (radix - m) * span];
                p[0] = m0 + d1;
                p[1] = m1 - d0;
                q[0] = m0 - d1;
                q[1] = m1 + d0;
            }
        }
        w = &w[2 * (radix - 1)];
    }
}

/* All stages. */
static inline void pl_fft_any_stages(const pl_fft_t *t, const float *factors, float *y, float *scratch)
{
    const float *w = factors;
    int32_t span = 1;
    for (int32_t s = 0; s < t->stages; s++) {
        const int32_t radix = t->radix[s];
        const float *roots = w;
        if (radix > 5) {
            w = &w[2 * radix];
        }
        if (radix == 2) {
            pl_fft_stage2(y, w, t->points, span);
        } else if (radix == 3) {
            pl_fft_stage3(y, w, t->points, span);
        } else if (radix == 4) {
            pl_fft_stage4(y, w, t->points, span);
        } else if (radix == 5) {
            pl_fft_stage5(y, w, t->points, span);
        } else {
            pl_fft_stage(y, w, t->points, span, radix, roots, scratch);
        }
        w = &w[2 * (radix - 1) * span];
        span *= radix;
    }
}

static inline void pl_fft_any_f32(const pl_fft_t *t, const float *x, const float *factors, float *y_start,
                                  float *scratch)
{
    float *y = y_start;
    for (int32_t i = 0; i < t->batch; i++) {
        for (int32_t j = 0; j < t->frames; j++) {
            pl_fft_load(t, &x[(i * t->x_batch) + (j * t->x_frame)], y);
            pl_fft_any_stages(t, factors, y, scratch);
            y = &y[2 * t->bins];
        }
    }
}

#endif
