#ifndef PL_INDEX_H
#define PL_INDEX_H

#include <stdint.h>

/* An index as PyTorch reads it: a negative one counts from the end. PyTorch raises an error for one that is out of
 * range; a run cannot, so it is moved to the nearest element and memory stays safe. */
static inline int32_t pl_index(int64_t i, int32_t size)
{
    const int64_t j = (i < 0) ? (i + size) : i;
    return (j < 0) ? 0 : (j < size) ? (int32_t)j : (size - 1);
}

#endif
