#ifndef PL_NEGATIVE_H
#define PL_NEGATIVE_H

#include <stdbool.h>
#include <stdint.h>

/* A comparison that may be of an unsigned type, where compilers warn that it is always false. */
static inline bool pl_negative(int64_t a) { return a < 0; }

#endif
