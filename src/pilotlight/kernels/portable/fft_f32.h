#ifndef PL_FFT_F32_H
#define PL_FFT_F32_H

#include <stdint.h>

#define PL_FFT_STAGES 16

/* Discrete Fourier transforms of rows, decimation in time. The points of a row are loaded in the order of their
 * reversed digits, to the base of the radices; each stage then joins `radix` transforms of `span` points where they
 * are, in y or in scratch memory. Complex numbers are pairs of floats. The inverse is the forward transform of the
 * points in the order 0, n - 1, ..., 1. */
typedef struct {
    int32_t batch; /* rows: batch times frames */
    int32_t frames;
    int32_t x_batch; /* floats in x from one to the next */
    int32_t x_frame;
    int32_t x_point;
    int32_t w_point; /* floats in the window from one point to the next; 0: one number for all */
    int32_t n;       /* points of a row */
    int32_t bins;    /* results of a row */
    int32_t points;  /* of the complex transform: n, or n / 2 of a real row */
    int32_t inverse; /* 1: of complex points */
    float scale;
    int32_t stages;
    int32_t radix[PL_FFT_STAGES]; /* of each stage */
    int32_t step[PL_FFT_STAGES];  /* from one to the next value of a digit */
} pl_fft_t;

/* The source of the next point: the digits count up, the first one fastest. */
static inline int32_t pl_fft_next(const pl_fft_t *t, int32_t *digits, int32_t at)
{
    int32_t next = at;
    for (int32_t s = 0; s < t->stages; s++) {
        next += t->step[s];
        digits[s]++;
        if (digits[s] < t->radix[s]) {
            break;
        }
        next -= t->step[s] * t->radix[s];
        digits[s] = 0;
    }
    return next;
}

static inline void pl_fft_start(const pl_fft_t *t, int32_t *digits)
{
    for (int32_t s = 0; s < t->stages; s++) {
        digits[s] = 0;
    }
}

/* Complex points of one row. */
static inline void pl_fft_load(const pl_fft_t *t, const float *x, float *y)
{
    int32_t digits[PL_FFT_STAGES];
    int32_t at = 0;
    pl_fft_start(t, digits);
    for (int32_t i = 0; i < t->points; i++) {
        const int32_t source = ((t->inverse != 0) && (at != 0)) ? (t->points - at) : at;
        const float *point = &x[source * t->x_point];
        y[2 * i] = point[0] * t->scale;
        y[(2 * i) + 1] = point[1] * t->scale;
        at = pl_fft_next(t, digits, at);
    }
}

/* A complex number times a factor, as two floats. */
#define PL_FFT_TURN(re, im, p, w)                                                                                      \
    const float re = ((p)[0] * (w)[0]) - ((p)[1] * (w)[1]);                                                            \
    const float im = ((p)[0] * (w)[1]) + ((p)[1] * (w)[0])

/* The first stage, of one point each: no factors. */
static inline void pl_fft_first2(float *y_start, int32_t points)
{
    float *y = y_start;
    for (int32_t i = 0; i < points; i += 2) {
        const float re = y[2];
        const float im = y[3];
        y[2] = y[0] - re;
        y[3] = y[1] - im;
        y[0] += re;
        y[1] += im;
        y = &y[4];
    }
}

static inline void pl_fft_first4(float *y_start, int32_t points)
{
    float *y = y_start;
    for (int32_t i = 0; i < points; i += 4) {
        const float s0 = y[0] + y[4];
        const float s1 = y[1] + y[5];
        const float d0 = y[0] - y[4];
        const float d1 = y[1] - y[5];
        const float u0 = y[2] + y[6];
        const float u1 = y[3] + y[7];
        const float v0 = y[2] - y[6];
        const float v1 = y[3] - y[7];
        y[0] = s0 + u0;
        y[1] = s1 + u1;
        y[2] = d0 + v1;
        y[3] = d1 - v0;
        y[4] = s0 - u0;
        y[5] = s1 - u1;
        y[6] = d0 - v1;
        y[7] = d1 + v0;
        y = &y[8];
    }
}

/* A later stage of radix 2: `w` has the factor of each of `span` points. */
static inline void pl_fft_stage2(float *y, const float *w_start, int32_t points, int32_t span)
{
    const float *w = w_start;
    for (int32_t k = 0; k < span; k++) {
        for (int32_t i = k; i < points; i += 2 * span) {
            float *a = &y[2 * i];
            float *b = &a[2 * span];
            PL_FFT_TURN(re, im, b, w);
            b[0] = a[0] - re;
            b[1] = a[1] - im;
            a[0] += re;
            a[1] += im;
        }
        w = &w[2];
    }
}

/* Of radix 4: three factors for each of `span` points. */
static inline void pl_fft_stage4(float *y, const float *w_start, int32_t points, int32_t span)
{
    const float *w = w_start;
    for (int32_t k = 0; k < span; k++) {
        for (int32_t i = k; i < points; i += 4 * span) {
            float *a = &y[2 * i];
            float *b = &a[2 * span];
            float *c = &b[2 * span];
            float *d = &c[2 * span];
            PL_FFT_TURN(b0, b1, b, w);
            PL_FFT_TURN(c0, c1, c, &w[2]);
            PL_FFT_TURN(d0, d1, d, &w[4]);
            const float s0 = a[0] + c0;
            const float s1 = a[1] + c1;
            const float t0 = a[0] - c0;
            const float t1 = a[1] - c1;
            const float u0 = b0 + d0;
            const float u1 = b1 + d1;
            const float v0 = b0 - d0;
            const float v1 = b1 - d1;
            a[0] = s0 + u0;
            a[1] = s1 + u1;
            b[0] = t0 + v1;
            b[1] = t1 - v0;
            c[0] = s0 - u0;
            c[1] = s1 - u1;
            d[0] = t0 - v1;
            d[1] = t1 + v0;
        }
        w = &w[6];
    }
}

/* All stages where every radix is 2 or 4. */
static inline void pl_fft_stages(const pl_fft_t *t, const float *factors, float *y)
{
    const float *w = factors;
    int32_t span = 1;
    for (int32_t s = 0; s < t->stages; s++) {
        const int32_t radix = t->radix[s];
        if (s == 0) {
            if (radix == 4) {
                pl_fft_first4(y, t->points);
            } else {
                pl_fft_first2(y, t->points);
            }
        } else {
            if (radix == 4) {
                pl_fft_stage4(y, w, t->points, span);
            } else {
                pl_fft_stage2(y, w, t->points, span);
            }
            w = &w[2 * (radix - 1) * span];
        }
        span *= radix;
    }
}

static inline void pl_fft_f32(const pl_fft_t *t, const float *x, const float *factors, float *y_start)
{
    float *y = y_start;
    for (int32_t i = 0; i < t->batch; i++) {
        for (int32_t j = 0; j < t->frames; j++) {
            pl_fft_load(t, &x[(i * t->x_batch) + (j * t->x_frame)], y);
            pl_fft_stages(t, factors, y);
            y = &y[2 * t->bins];
        }
    }
}

#endif
