#ifndef PL_Q_RESIZE_H
#define PL_Q_RESIZE_H

#include "mem.h"
#include "requantize.h"

/* The shape of an image resize, channels last. */
typedef struct {
    int32_t n; // input (n, ih, iw, c)
    int32_t ih;
    int32_t iw;
    int32_t c;
    int32_t oh; // output (n, oh, ow, c)
    int32_t ow;
    pl_requantize_t out;
    int32_t zx;
    int32_t m;
} pl_q_resize_t;

/* Nearest neighbour: rows (oh) and columns (ow) of the input under each pixel. Walks output pixels forward. */
static inline void pl_q_resize_nearest(const pl_q_resize_t *s, const int8_t *x_start, const int16_t *rows,
                                       const int16_t *columns, int8_t *y_start)
{
    const int8_t *x = x_start;
    int8_t *y = y_start;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            const int8_t *row = x + (rows[oy] * s->iw * s->c); // (iw, c)
            for (int32_t ox = 0; ox < s->ow; ox++) {
                pl_copy(y, row + (columns[ox] * s->c), s->c);
                y = &y[s->c];
            }
        }
        x = &x[s->ih * s->iw * s->c];
    }
}

/* Bilinear: rows (oh, 3) and columns (ow, 3) name two neighbours and the weight of the second, of 2048 in all.
 * Walks output pixels forward. */
static inline void pl_q_resize_bilinear(const pl_q_resize_t *s, const int8_t *x_start, const int16_t *rows,
                                        const int16_t *columns, int8_t *y_start)
{
    const int8_t *x = x_start;
    int8_t *y = y_start;
    for (int32_t n = 0; n < s->n; n++) {
        for (int32_t oy = 0; oy < s->oh; oy++) {
            const int16_t *v = rows + (3 * oy);
            const int8_t *above = x + (v[0] * s->iw * s->c); // (iw, c)
            const int8_t *below = x + (v[1] * s->iw * s->c);
            for (int32_t ox = 0; ox < s->ow; ox++) {
                const int16_t *h = columns + (3 * ox);
                const int32_t left = h[0] * s->c;
                const int32_t right = h[1] * s->c;
                const int32_t t = h[2];
                for (int32_t k = 0; k < s->c; k++) {
                    const int32_t a = ((2048 - t) * (above[left + k] - s->zx)) + (t * (above[right + k] - s->zx));
                    const int32_t b = ((2048 - t) * (below[left + k] - s->zx)) + (t * (below[right + k] - s->zx));
                    *y = pl_requantize_s8(&s->out, ((2048 - v[2]) * a) + (v[2] * b), s->m);
                    y++;
                }
            }
        }
        x = &x[s->ih * s->iw * s->c];
    }
}

#endif
