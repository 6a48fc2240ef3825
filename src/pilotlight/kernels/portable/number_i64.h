#ifndef PL_NUMBER_I64_H
#define PL_NUMBER_I64_H

#include <stdbool.h>
#include <stdint.h>

#include "integer.h"

/* What kernels for floats and for integers alike do with their elements; integers wrap around as PyTorch's do. */
static inline bool pl_is_nan_i64(int64_t a)
{
    (void)a;
    return false;
}

static inline int64_t pl_least_i64(void) { return INT64_MIN; }

static inline int64_t pl_add_i64(int64_t a, int64_t b) { return pl_signed64((uint64_t)a + (uint64_t)b); }

static inline int64_t pl_mul_i64(int64_t a, int64_t b) { return pl_signed64((uint64_t)a * (uint64_t)b); }

#endif
