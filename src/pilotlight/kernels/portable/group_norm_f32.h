#ifndef PL_GROUP_NORM_F32_H
#define PL_GROUP_NORM_F32_H

#include <stddef.h>

#include "sqrt_f32.h"
#include "sum_f32.h"

/* x (n, s, c) in `groups` groups of neighbouring channels, each group of an image to mean 0 and variance 1, then
 * times w (c) plus b (c), each of which may be null. groups == c is instance norm. stats (groups, 2) is scratch.
 * An image's statistics come first, then it is walked forward: y may be x. */
static inline void pl_group_norm_f32(const float *x_start, const float *w, const float *b, float *stats, float *y_start,
                                     int32_t n, int32_t s, int32_t c, int32_t groups, float eps)
{
    const float *x = x_start;
    float *y = y_start;
    const int32_t width = c / groups;
    const float count = (float)s * (float)width;
    for (int32_t image = 0; image < n; image++) {
        for (int32_t g = 0; g < groups; g++) {
            float sum = 0.0f;
            for (int32_t k = 0; k < width; k++) {
                sum += pl_sum_f32(x + ((g * width) + k), s, c);
            }
            stats[2 * g] = sum / count;
            sum = 0.0f;
            for (int32_t k = 0; k < width; k++) {
                sum += pl_sum_squares_f32(x + ((g * width) + k), s, c, stats[2 * g]);
            }
            stats[(2 * g) + 1] = 1.0f / pl_sqrt_f32((sum / count) + eps);
        }
        for (int32_t p = 0; p < s; p++) {
            for (int32_t k = 0; k < c; k++) {
                const float *stat = stats + (2 * (k / width));
                float v = (x[(p * c) + k] - stat[0]) * stat[1];
                v = (w != NULL) ? (v * w[k]) : v;
                y[(p * c) + k] = (b != NULL) ? (v + b[k]) : v;
            }
        }
        x = &x[s * c];
        y = &y[s * c];
    }
}

#endif
