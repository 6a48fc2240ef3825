#ifndef PL_Q_PEAK_EXTREMES_H
#define PL_Q_PEAK_EXTREMES_H

#include "q_peak.h"

/* pl_q_peak with the zero point subtracted once a row, after the extremes are known. */
static inline void pl_q_peak_extremes(const pl_q_peak_t *s, const int8_t *x, int8_t *y)
{
    for (int32_t row = 0; row < s->rows; row++, x += s->n, y += s->n) {
        int32_t least = s->zx, most = s->zx, peak, r;
        for (int32_t k = 0; k < s->n; k++) {
            least = x[k] < least ? x[k] : least;
            most = x[k] > most ? x[k] : most;
        }
        peak = most - s->zx > s->zx - least ? most - s->zx : s->zx - least;
        r = (1 << 30) / (peak > 1 ? peak : 1);
        for (int32_t k = 0; k < s->n; k++) {
            y[k] = pl_requantize_s8(&s->out, (x[k] - s->zx) * r, s->m);
        }
    }
}

#endif
