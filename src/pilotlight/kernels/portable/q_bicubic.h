#ifndef PL_Q_BICUBIC_H
#define PL_Q_BICUBIC_H

#include "integer.h"
#include "q_resize.h"
#include "requantize.h"

/* Bicubic: rows (oh, 8) and columns (ow, 8) name four neighbours and then their weights, of 2048 in all along a row's
 * own axis and of 4096 along a column's. Lines are kept in units of 2^-10. Walks output pixels forward. */
static inline void pl_q_resize_bicubic(const pl_q_resize_t *s, const int8_t *x_start, const int16_t *rows,
                                       const int16_t *columns, int8_t *y_start)
{
    const int8_t *x = x_start;
    int8_t *y = y_start;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            const int16_t *v = rows + (8 * oy);
            for (int32_t ox = 0; ox < s->ow; ox++) {
                const int16_t *h = columns + (8 * ox);
                for (int32_t k = 0; k < s->c; k++) {
                    int32_t sum = 0;
                    for (int32_t r = 0; r < 4; r++) {
                        const int8_t *row = x + (v[r] * s->iw * s->c) + k; // (iw), c apart
                        int32_t line = 2;
                        for (int32_t q = 0; q < 4; q++) {
                            line += h[4 + q] * (row[h[q] * s->c] - s->zx);
                        }
                        sum += v[4 + r] * pl_shr(line, 2);
                    }
                    *y = pl_requantize_s8(&s->out, sum, s->m);
                    y++;
                }
            }
        }
        x = &x[s->ih * s->iw * s->c];
    }
}

#endif
