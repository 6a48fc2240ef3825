/* Sizes, views and lists of tensors: what the shape, reduction and index operators share. */
#ifndef PT_SHAPE_H
#define PT_SHAPE_H

#include "tensor.h"

#include "py/objtuple.h"

const char *pt_shape_text(int ndim, const int32_t *sizes); /* "[2, 3]" */

static inline const char *pt_dtype_name(int dtype) { return pt_dtypes[dtype].type; } /* "Float", as in errors */

/* Bits of the dimensions in a list; PyTorch's error for one that comes twice. */
uint32_t pt_dims(pt_call_t *c, const pt_arg_t *dims, int ndim);
/* RuntimeError for the value of an argument, which it names. */
NORETURN void pt_refuse(pt_call_t *c, int k);

/* PyTorch's error if a result overlaps its arguments; only with out=. */
void pt_check_apart(pt_call_t *c, const pt_tensor_t *written, pt_tensor_t *read);

pt_tensor_t *pt_reshape(pt_tensor_t *t, int count, const int32_t *sizes); /* a view if possible */
pt_tensor_t *pt_permute(pt_tensor_t *t, const int32_t *order);
pt_tensor_t *pt_transpose(pt_tensor_t *t, int a, int b);
pt_tensor_t *pt_unsqueeze(pt_tensor_t *t, int dim);
pt_tensor_t *pt_expand(pt_tensor_t *t, int ndim, const int32_t *sizes);
pt_tensor_t *pt_slice(pt_tensor_t *t, int dim, int32_t start, int32_t length, int32_t step);
pt_tensor_t *pt_select(pt_tensor_t *t, int dim, int32_t index);

#endif
