#ifndef PL_POW_I64_H
#define PL_POW_I64_H

#include <stdbool.h>

#include "number_i64.h"

/* a to the power of b, wrapping around; a negative power is 0 except for 1 and -1. */
static inline int64_t pl_pow_i64(int64_t a_start, int64_t b_start)
{
    int64_t a = a_start;
    int64_t b = b_start;
    int64_t result = 1;
    if (b < 0) {
        const bool even = (b % 2) == 0;
        result = 0;
        if ((a == 1) || (a == -1)) {
            result = even ? (a * a) : a;
        }
    }
    for (; b > 0; b /= 2) {
        result = ((b % 2) != 0) ? pl_mul_i64(result, a) : result;
        a = pl_mul_i64(a, a);
    }
    return result;
}

#endif
