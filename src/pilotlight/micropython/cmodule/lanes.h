/* Operators on whole lanes along a dimension: running sums, sorting, ranks. */
#ifndef PT_LANES_H
#define PT_LANES_H

#include "shape.h"

/* A lane of `n` elements of the compute type, and what is made of it in place. */
typedef struct {
    int compute;
    int32_t n, m; /* elements read, elements written: no more */
    void *x;      /* n of them */
    int64_t *ids; /* their original indices */
    bool flag;    /* descending */
} pt_lane_t;

/* Runs over all lanes of x along a dimension. y and ids have as many elements along it as the lane gives, or lack the
 * dimension if that is one; each may be NULL. */
void pt_lanes(pt_tensor_t *x, int dim, pt_lane_t *l, void (*run)(pt_lane_t *l), pt_tensor_t *y, pt_tensor_t *ids);

#endif
