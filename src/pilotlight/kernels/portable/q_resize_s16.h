#ifndef PL_Q_RESIZE_S16_H
#define PL_Q_RESIZE_S16_H

#include "integer.h"
#include "q_resize.h"
#include "requantize_s16.h"

/* Bilinear resizing of int16: rows (oh, 3) and columns (ow, 3) name two neighbours and the weight of the second, of
 * 2048 in all. Between the two directions a number keeps four fraction bits. Walks output pixels forward. */
static inline void pl_q_resize_bilinear_s16(const pl_q_resize_t *s, const int16_t *x_start, const int16_t *rows,
                                            const int16_t *columns, int16_t *y_start)
{
    const int16_t *x = x_start;
    int16_t *y = y_start;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            const int16_t *v = rows + (3 * oy);
            const int16_t *above = x + (v[0] * s->iw * s->c); // (iw, c)
            const int16_t *below = x + (v[1] * s->iw * s->c);
            for (int32_t ox = 0; ox < s->ow; ox++) {
                const int16_t *h = columns + (3 * ox);
                const int32_t left = h[0] * s->c;
                const int32_t right = h[1] * s->c;
                const int32_t t = h[2];
                for (int32_t k = 0; k < s->c; k++) {
                    const int32_t a = pl_shr(((2048 - t) * above[left + k]) + (t * above[right + k]) + 64, 7);
                    const int32_t b = pl_shr(((2048 - t) * below[left + k]) + (t * below[right + k]) + 64, 7);
                    *y = pl_requantize_s16(&s->out, ((2048 - v[2]) * a) + (v[2] * b), s->m);
                    y++;
                }
            }
        }
        x = &x[s->ih * s->iw * s->c];
    }
}

#endif
