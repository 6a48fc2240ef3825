#ifndef PL_COPY_U32_H
#define PL_COPY_U32_H

#include "alias.h"
#include "mem.h"
#include "strided.h"

/* A strided copy of elements of 4 bytes: permute, slice, expand, repeat, flip and concat are all cases of it.
 * Walks the dimensions in order, the last one fastest. */
static inline void pl_copy_u32(const pl_strided_t *s, const pl_u32 *x, pl_u32 *y)
{
    const int32_t n = s->size[5], xs = s->x[5], ys = s->y[5];
    for (int32_t a = 0; a < s->size[0]; a++) {
        for (int32_t b = 0; b < s->size[1]; b++) {
            for (int32_t c = 0; c < s->size[2]; c++) {
                for (int32_t d = 0; d < s->size[3]; d++) {
                    const pl_u32 *p = x + (a * s->x[0] + b * s->x[1] + c * s->x[2] + d * s->x[3]);
                    pl_u32 *q = y + (a * s->y[0] + b * s->y[1] + c * s->y[2] + d * s->y[3]);
                    for (int32_t e = 0; e < s->size[4]; e++, p += s->x[4] - n * xs, q += s->y[4] - n * ys) {
                        for (int32_t f = 0; f < n; f++, p += xs, q += ys) {
                            PL_BARRIER(q);
                            *q = *p;
                        }
                    }
                }
            }
        }
    }
}

#endif
