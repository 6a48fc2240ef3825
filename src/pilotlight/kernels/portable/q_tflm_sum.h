#ifndef PL_Q_TFLM_SUM_H
#define PL_Q_TFLM_SUM_H

#include "integer.h"
#include "mem.h"
#include "q_clamp.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

/* y = clamp((a * x0 + b * x1 + c) >> shift, lo, hi) */
typedef struct {
    int32_t a;
    int32_t b;
    int32_t c;
    int32_t shift;
    int32_t lo;
    int32_t hi;
} pl_q_tflm_sum_t;

/* n sums of operands that lie s0 and s1 elements apart, each 0 or 1; y may be either of them. */
static inline void pl_q_tflm_sum(const pl_q_tflm_sum_t *t, const int8_t *x0_start, const int8_t *x1_start,
                                 int8_t *y_start, int32_t n_start, int32_t s0, int32_t s1)
{
    const int8_t *x0 = x0_start;
    const int8_t *x1 = x1_start;
    int8_t *y = y_start;
    int32_t n = n_start;
    int32_t a = t->a;
    int32_t b = t->b;
    int32_t c = t->c;
    const int32_t shift = t->shift;
#if defined(__ARM_FEATURE_MVE)
    if ((s0 + s1) == 2) {
        const int32x4_t factor = vdupq_n_s32(a);
        const int32x4_t least = vdupq_n_s32(t->lo);
        const int32x4_t most = vdupq_n_s32(t->hi);
        for (; n >= 4; n -= 4) {
            const int32x4_t v = vmlaq_n_s32(vmlasq_n_s32(vldrbq_s32(x0), factor, c), vldrbq_s32(x1), b);
            vstrbq_s32(y, vminq_s32(vmaxq_s32(vshlq_r_s32(v, -shift), least), most));
            x0 = &x0[4];
            x1 = &x1[4];
            y = &y[4];
        }
    }
#else
    PL_BARRIER(a); /* keeps them in registers */
    PL_BARRIER(b);
    PL_BARRIER(c);
    if ((t->lo == -128) && (t->hi == 127) && ((s0 + s1) == 2)) {
        for (; n >= 4; n -= 4) {
            y[0] = pl_q_sat8(pl_shr_by((c + (a * x0[0])) + (b * x1[0]), shift));
            y[1] = pl_q_sat8(pl_shr_by((c + (a * x0[1])) + (b * x1[1]), shift));
            y[2] = pl_q_sat8(pl_shr_by((c + (a * x0[2])) + (b * x1[2]), shift));
            y[3] = pl_q_sat8(pl_shr_by((c + (a * x0[3])) + (b * x1[3]), shift));
            x0 = &x0[4];
            x1 = &x1[4];
            y = &y[4];
        }
    }
#endif
    for (; n > 0; n--) {
        *y = (int8_t)pl_q_clamp(pl_shr_by((c + (a * *x0)) + (b * *x1), shift), t->lo, t->hi);
        y++;
        x0 = &x0[s0];
        x1 = &x1[s1];
    }
}

#endif
