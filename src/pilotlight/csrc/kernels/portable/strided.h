#ifndef PL_STRIDED_H
#define PL_STRIDED_H

#include <stdint.h>

/* A loop nest of six dimensions over two tensors: sizes (1 where a dimension is not used) and the distance in
 * elements that a step along each makes in x and y, negative or 0 where it walks back or repeats. */
typedef struct {
    int32_t size[6];
    int32_t x[6], y[6];
} pl_strided_t;

#endif
