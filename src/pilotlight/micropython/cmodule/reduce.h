/* Reductions: every one is a rule that folds the elements of a lane, a piece at a time. */
#ifndef PT_REDUCE_H
#define PT_REDUCE_H

#include "shape.h"

/* The state of a lane so far. */
typedef struct {
    float f, g;    /* the result of floats, and what else a rule needs */
    int64_t i, j;  /* the result of integers, and an index */
    float p, part; /* a parameter; a sum that is not in f yet */
    int32_t seen;  /* elements before this piece */
    int32_t parts;
} pt_fold_t;

enum { PT_VALUE, PT_INTEGER, PT_INDEX }; /* f or i, i, j */

typedef struct {
    void (*f32)(pt_fold_t *s, const float *x, int n); /* NULL: only integers */
    void (*i64)(pt_fold_t *s, const int64_t *x, int n);
    void (*end)(pt_fold_t *s); /* may be NULL */
    uint8_t out[2];            /* what the results are */
} pt_rule_t;

/* The dimensions of a call's reduction and the shape of its result. */
typedef struct {
    pt_tensor_t *x;
    uint32_t bits;              /* the reduced dimensions */
    int32_t lane;               /* elements of a lane */
    int ndim;                   /* of the result */
    int32_t sizes[PT_MAX_DIMS]; /* of the result */
    int32_t kept[PT_MAX_DIMS];  /* of x, with 1 for reduced dimensions */
} pt_plan_t;

void pt_plan(pt_plan_t *p, pt_tensor_t *x, uint32_t bits, bool keepdim);
/* Folds each lane of the plan, elements taken as float32 or int64, into y (one or two tensors of the plan's sizes). */
void pt_reduce(
    const pt_plan_t *p, const pt_rule_t *rule, const pt_fold_t *first, int compute, int count, pt_tensor_t *const *y);
/* PyTorch's errors for reductions that need an element. */
void pt_some_elements(pt_call_t *c, const pt_plan_t *p, bool by_dim);

void pt_fold_sum_end(pt_fold_t *s); /* what is in no sum of 32 pieces yet */

#endif
