#ifndef PL_Q_TFLM_MEAN_H
#define PL_Q_TFLM_MEAN_H

#include "q_sum.h"
#include "tflm.h"

/* Sums that begin with `begin`, times q * 2^(shift - 31), rounded twice. */
typedef struct {
    int32_t begin;
    int32_t q;
    int32_t shift;
    int32_t zy;
    int32_t lo;
    int32_t hi;
} pl_q_tflm_mean_t;

/* Sums along the middle of x (outer, axis, inner) -> y (outer, inner), four lanes at a time. A lane is read before its
 * result is written, so y may be x. */
static inline void pl_q_tflm_mean(const pl_q_tflm_mean_t *t, const int8_t *x_start, int8_t *y_start, int32_t outer,
                                  int32_t axis, int32_t inner)
{
    const int8_t *x = x_start;
    int8_t *y = y_start;
    for (int32_t o = 0; o < outer; o++) {
        const int32_t fours = inner & ~3;
        for (int32_t i = 0; i < fours; i += 4) {
            pl_q_sums_t s = {{t->begin, t->begin, t->begin, t->begin}};
            pl_q_sum4(&s, x + i, axis, inner);
            for (int32_t k = 0; k < 4; k++) {
                y[i + k] = (int8_t)pl_tflm_output(s.a[k], t->q, t->shift, t->zy, t->lo, t->hi);
            }
        }
        for (int32_t i = fours; i < inner; i++) {
            const int8_t *p = x + i;
            int32_t a = t->begin;
            for (int32_t n = axis; n > 0; n--) {
                a += *p;
                p = &p[inner];
            }
            y[i] = (int8_t)pl_tflm_output(a, t->q, t->shift, t->zy, t->lo, t->hi);
        }
        x = &x[axis * inner];
        y = &y[inner];
    }
}

#endif
