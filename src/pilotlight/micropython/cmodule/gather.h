/* Elements picked and put by index tensors along one dimension. */
#ifndef PT_GATHER_H
#define PT_GATHER_H

#include "shape.h"

enum { PT_TAKE, PT_PUT, PT_ADD, PT_MULTIPLY, PT_LARGEST, PT_LEAST };

/* For each element of `index` and the one at the same place of `other`: full[.., index, ..] is read into `other`, or
 * written, or changed by it. Both have the same sizes; those of `full` are at least as large, but for `dim`. An index that
 * is not there is an IndexError in self, else a RuntimeError. */
void pt_along(pt_tensor_t *full, int dim, pt_tensor_t *index, pt_tensor_t *other, int action, bool in_self);
/* A vector of indices of a dimension as wide as a tensor of these sizes. */
pt_tensor_t *pt_index_vector(pt_call_t *c, pt_tensor_t *index, int ndim, int dim, const int32_t *sizes);
void pt_index_type(pt_call_t *c, const pt_tensor_t *index); /* PyTorch's error for any other type */

#endif
