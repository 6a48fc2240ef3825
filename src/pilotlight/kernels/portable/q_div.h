#ifndef PL_Q_DIV_H
#define PL_Q_DIV_H

#include "integer.h"
#include "q_clamp.h"

/* clamp(((x0 - z0) * a / (x1 - z1) + c) >> shift), the quotient toward zero; division by zero gives the limit of
 * x0's sign, and zero by zero what a quotient of zero gives. */
typedef struct {
    int32_t z0;
    int32_t z1;
    int32_t a;
    int32_t c;
    int32_t shift;
    int32_t lo;
    int32_t hi;
} pl_q_div_t;

/* n numbers; x0 and x1 move by step0 and step1, which are 0 or 1. y may be x0 or x1. */
static inline void pl_q_div(const pl_q_div_t *s, const int8_t *x0_start, const int8_t *x1_start, int8_t *y_start,
                            int32_t n, int32_t step0, int32_t step1)
{
    const int8_t *x0 = x0_start;
    const int8_t *x1 = x1_start;
    int8_t *y = y_start;
    for (int32_t left = n; left > 0; left--) {
        const int32_t over = (*x0 - s->z0) * s->a;
        const int32_t under = *x1 - s->z1;
        int32_t v = pl_shr_by((over == 0) ? s->c : ((over / ((under != 0) ? under : 1)) + s->c), s->shift);
        v = ((under == 0) && (over != 0)) ? ((over < 0) ? s->lo : s->hi) : v;
        *y = (int8_t)pl_q_clamp(v, s->lo, s->hi);
        y++;
        x0 = &x0[step0];
        x1 = &x1[step1];
    }
}

#endif
