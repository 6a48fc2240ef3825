#ifndef PL_Q_SCALE_H
#define PL_Q_SCALE_H

#include "integer.h"
#include "q_clamp.h"

/* Two straight lines that meet at x = zero, one pair per channel. */
typedef struct {
    int32_t below;
    int32_t above;
    int32_t begin;
} pl_q_lines_t;

typedef struct {
    int32_t zero;
    int32_t shift;
    int32_t lo;
    int32_t hi;
} pl_q_scale_t;

/* y = clamp(((x - zero) * line + begin) >> shift), the line chosen by the sign of x - zero. x (outer, count, inner)
 * -> y, lines (count). Element by element; y may be x. */
static inline void pl_q_scale(const pl_q_scale_t *s, const int8_t *x_start, const pl_q_lines_t *lines, int8_t *y_start,
                              int32_t outer, int32_t count, int32_t inner)
{
    const int8_t *x = x_start;
    int8_t *y = y_start;
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t c = 0; c < count; c++) {
            const int32_t below = lines[c].below;
            const int32_t above = lines[c].above;
            const int32_t begin = lines[c].begin;
            for (int32_t i = 0; i < inner; i++) {
                const int32_t d = *x - s->zero;
                x++;
                *y = (int8_t)pl_q_clamp(pl_shr_by((d * ((d < 0) ? below : above)) + begin, s->shift), s->lo, s->hi);
                y++;
            }
        }
    }
}

#endif
