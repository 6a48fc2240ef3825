/* Indexing by tensors. */
#ifndef PT_INDICES_H
#define PT_INDICES_H

#include "shape.h"

/* `indices` stand for the dimensions in their order, NULL for one that is taken whole; a mask stands for as many as it
 * has itself. `c` may be NULL, it says where the result goes. */
pt_tensor_t *pt_index(pt_call_t *c, pt_tensor_t *t, int count, pt_tensor_t *const *indices);
void pt_index_put(pt_tensor_t *t, int count, pt_tensor_t *const *indices, pt_tensor_t *values, bool accumulate);
NORETURN void pt_out_of_bounds(int64_t index, int dim, int32_t size);
/* Without leading dimensions of size 1, down to `least` dimensions. */
pt_tensor_t *pt_without_ones(pt_tensor_t *t, int least);

#endif
