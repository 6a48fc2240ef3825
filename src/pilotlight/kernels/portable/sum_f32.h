#ifndef PL_SUM_F32_H
#define PL_SUM_F32_H

#include <stdint.h>

/* The sum of n floats, `stride` apart: blocks of 32 in four lanes, then blocks of 32 of those, so that the error
 * grows like n / 1024 and not like n. */
static inline float pl_sum_f32(const float *x_start, int32_t n_start, int32_t stride)
{
    const float *x = x_start;
    int32_t n = n_start;
    float total = 0.0f;
    float part = 0.0f;
    int32_t blocks = 0;
    while (n > 0) {
        int32_t m = (n < 32) ? n : 32;
        float a = 0.0f;
        float b = 0.0f;
        float c = 0.0f;
        float d = 0.0f;
        n -= m;
        for (; m >= 4; m -= 4) {
            a += x[0];
            b += x[stride];
            c += x[2 * stride];
            d += x[3 * stride];
            x = &x[4 * stride];
        }
        for (; m > 0; m--) {
            a += x[0];
            x = &x[stride];
        }
        part += (a + b) + (c + d);
        if (++blocks == 32) {
            total += part;
            part = 0.0f;
            blocks = 0;
        }
    }
    return total + part;
}

/* The sum of (x - mean)^2, summed the same way. */
static inline float pl_sum_squares_f32(const float *x_start, int32_t n_start, int32_t stride, float mean)
{
    const float *x = x_start;
    int32_t n = n_start;
    float total = 0.0f;
    float part = 0.0f;
    int32_t blocks = 0;
    while (n > 0) {
        int32_t m = (n < 32) ? n : 32;
        float a = 0.0f;
        n -= m;
        for (; m > 0; m--) {
            const float d = x[0] - mean;
            a += d * d;
            x = &x[stride];
        }
        part += a;
        if (++blocks == 32) {
            total += part;
            part = 0.0f;
            blocks = 0;
        }
    }
    return total + part;
}

#endif
