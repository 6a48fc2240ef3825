#ifndef PL_Q_PEAK_H
#define PL_Q_PEAK_H

#include "requantize.h"

typedef struct {
    int32_t rows, n;
    int32_t zx, m;
    pl_requantize_t out;
} pl_q_peak_t;

/* Every row of x (rows, n) divided by its peak. Row by row; y may be x. */
static inline void pl_q_peak(const pl_q_peak_t *s, const int8_t *x, int8_t *y)
{
    for (int32_t row = 0; row < s->rows; row++, x += s->n, y += s->n) {
        int32_t peak = 1, r;
        for (int32_t k = 0; k < s->n; k++) {
            const int32_t d = x[k] - s->zx;
            peak = d > peak ? d : -d > peak ? -d : peak;
        }
        r = (1 << 30) / peak;
        for (int32_t k = 0; k < s->n; k++) {
            y[k] = pl_requantize_s8(&s->out, (x[k] - s->zx) * r, s->m);
        }
    }
}

#endif
