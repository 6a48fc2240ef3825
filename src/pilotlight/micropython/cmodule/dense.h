/* What the files of dense operators share. Include it first: on hosts their loops are vectorized. */
#ifndef PT_DENSE_H
#define PT_DENSE_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#include "shape.h"

#include "matmul.h"

/* Products of one matrix: y = a b, polled. */
void pt_gemm(const pl_matmul_t *s, const float *a, const float *b, float *y);

/* Argument k as contiguous elements of this type. The copy, if one is needed, replaces the argument: so the garbage
 * collector sees it during the call. */
pt_tensor_t *pt_elements(pt_call_t *c, int k, int dtype);
/* The same as floats, or NULL for None. */
const float *pt_floats(pt_call_t *c, int k);
/* A tensor of the compute type as the result of a call: itself, or copied to out= or to a result of another type. */
mp_obj_t pt_finish(pt_call_t *c, pt_tensor_t *y, int dtype);
mp_obj_t pt_pair(pt_tensor_t *a, pt_tensor_t *b);

/* A tensor whose elements are in use up to here: without it only a pointer into its memory might be left, which the
 * garbage collector does not follow. */
#define pt_keep(t) __asm__ volatile("" : : "g"(t) : "memory")

/* PyTorch's errors. */
void pt_need_float(pt_call_t *c, int dtype);
static inline const char *pt_shape_of(const pt_tensor_t *t) { return pt_shape_text(t->ndim, t->dims); }

/* The product of sizes from..to. */
static inline int32_t pt_product(const pt_tensor_t *t, int from, int to)
{
    int32_t n = 1;
    for (int d = from; d < to; d++) {
        n *= t->dims[d];
    }
    return n;
}

#endif
