#ifndef PL_Q_SUM_H
#define PL_Q_SUM_H

#include "integer.h"
#include "q_clamp.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

/* Sums of four neighbouring channels. */
typedef struct {
    int32_t a[4];
} pl_q_sums_t;

/* s += four channels of n pixels that are `step` elements apart. With the DSP extension two 16-bit sums share a
 * register, for 256 pixels at most: -128 * 256 just fits. */
PL_Q_APART void pl_q_sum4(pl_q_sums_t *s, const int8_t *x_start, int32_t n_start, int32_t step)
{
    const int8_t *x = x_start;
    int32_t n = n_start;
#if defined(__ARM_FEATURE_MVE)
    int32x4_t sum = vldrwq_s32(s->a);
    for (; n > 0; n--) {
        sum = vaddq_s32(sum, vldrbq_s32(x));
        x = &x[step];
    }
    vstrwq_s32(s->a, sum);
#elif defined(__GNUC__) && defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED)
    typedef struct {
        uint32_t four;
    } __attribute__((__packed__, __may_alias__)) pl_word_t;
    while (n > 0) {
        uint32_t even = 0u;
        uint32_t odd = 0u;
        const int32_t block = (n < 256) ? n : 256;
        n -= block;
        for (int32_t left = block; left > 0; left--) {
            const uint32_t v = ((const pl_word_t *)(const void *)x)->four;
            __asm__("sxtab16 %0, %0, %1" : "+r"(even) : "r"(v));
            __asm__("sxtab16 %0, %0, %1, ror #8" : "+r"(odd) : "r"(v));
            x = &x[step];
        }
        s->a[0] += (int16_t)pl_signed(even & 0xffffu);
        s->a[1] += (int16_t)pl_signed(odd & 0xffffu);
        s->a[2] += (int16_t)pl_signed(even >> 16);
        s->a[3] += (int16_t)pl_signed(odd >> 16);
    }
#else
    int32_t a0 = s->a[0];
    int32_t a1 = s->a[1];
    int32_t a2 = s->a[2];
    int32_t a3 = s->a[3];
    for (; n > 0; n--) {
        a0 += x[0];
        a1 += x[1];
        a2 += x[2];
        a3 += x[3];
        x = &x[step];
    }
    s->a[0] = a0;
    s->a[1] = a1;
    s->a[2] = a2;
    s->a[3] = a3;
#endif
}

#endif
