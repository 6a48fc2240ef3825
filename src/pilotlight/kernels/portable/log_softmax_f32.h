#ifndef PL_LOG_SOFTMAX_F32_H
#define PL_LOG_SOFTMAX_F32_H

#include "exp_f32.h"
#include "log_f32.h"
#include "minmax_f32.h"

/* log(softmax) along the middle of (outer, axis, inner), lane by lane; y may be x. */
static inline void pl_log_softmax_f32(const float *x, float *y, int32_t outer, int32_t axis, int32_t inner)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            const float *in = x + ((o * axis * inner) + i);
            float *out = y + ((o * axis * inner) + i);
            float top = in[0];
            float sum = 0.0f;
            float part = 0.0f;
            for (int32_t k = 1; k < axis; k++) {
                top = pl_max_f32(in[k * inner], top);
            }
            for (int32_t k = 0; k < axis; k++) {
                part += pl_exp_f32(in[k * inner] - top);
                if ((k & 31) == 31) {
                    sum += part;
                    part = 0.0f;
                }
            }
            sum = pl_log_f32(sum + part);
            for (int32_t k = 0; k < axis; k++) {
                out[k * inner] = (in[k * inner] - top) - sum;
            }
        }
    }
}

#endif
