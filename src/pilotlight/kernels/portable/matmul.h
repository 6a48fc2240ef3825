#ifndef PL_MATMUL_H
#define PL_MATMUL_H

#include <stdint.h>

/* The shape of batched matrix products y = a b, with a (m, k) and b (k, n), for `outer` times `inner` matrices.
 * Distances are in elements, from one matrix of the batch, row or column to the next; 0 uses one matrix for all. So b
 * may be transposed, and heads may lie inside rows. The columns of a and of y are neighbours. */
typedef struct {
    int32_t outer;
    int32_t inner;
    int32_t m;
    int32_t k;
    int32_t n;
    int32_t a_outer;
    int32_t a_inner;
    int32_t a_row;
    int32_t b_outer;
    int32_t b_inner;
    int32_t b_row;
    int32_t b_col;
    int32_t y_outer;
    int32_t y_inner;
    int32_t y_row;
} pl_matmul_t;

#endif
