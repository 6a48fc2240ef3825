#ifndef PL_NONZERO_H
#define PL_NONZERO_H

#include <stdint.h>

#include "mem.h"

/* The rows of x (rows, bytes) where mask (rows) is not 0, one after another in y (rows, bytes), zeros after them;
 * returns their number. y may be x. */
static inline int64_t pl_compress(const uint8_t *x_start, const uint8_t *mask, uint8_t *y, int32_t rows, int32_t bytes)
{
    const uint8_t *x = x_start;
    int32_t count = 0;
    uint8_t *to = y;
    for (int32_t r = 0; r < rows; r++) {
        if (mask[r] != 0u) {
            count++;
            for (int32_t i = 0; i < bytes; i++) {
                PL_BARRIER(to);
                *to = x[i];
                to++;
            }
        }
        x = &x[bytes];
    }
    pl_zero(to, (rows - count) * bytes);
    return count;
}

/* Overwrites the rows of y (rows, bytes) where mask (rows) is not 0 with those of x (given, bytes), in order. */
static inline void pl_place(const uint8_t *x_start, const uint8_t *mask, uint8_t *y_start, int32_t rows,
                            int32_t given_start, int32_t bytes)
{
    const uint8_t *x = x_start;
    uint8_t *y = y_start;
    int32_t given = given_start;
    for (int32_t r = 0; (r < rows) && (given > 0); r++) {
        if (mask[r] != 0u) {
            pl_copy(y, x, bytes);
            x = &x[bytes];
            given--;
        }
        y = &y[bytes];
    }
}

/* The indices of the elements of mask (sizes[0], ..., sizes[rank - 1]) that are not 0, in order: y (elements, rank),
 * zeros after them; returns their number. */
static inline int64_t pl_nonzero(const uint8_t *mask, int64_t *y, const int32_t *sizes, int32_t rank, int32_t elements)
{
    int64_t *to = y;
    int64_t count = 0;
    for (int32_t e = 0; e < elements; e++) {
        if (mask[e] != 0u) {
            int32_t rest = e;
            count++;
            for (int32_t d = rank - 1; d >= 0; d--) {
                to[d] = rest % sizes[d];
                rest /= sizes[d];
            }
            to = &to[rank];
        }
    }
    pl_zero(to, ((elements - (int32_t)count) * rank) * (int32_t)sizeof(int64_t));
    return count;
}

#endif
