#ifndef PL_Q_TFLM_POOL2D_H
#define PL_Q_TFLM_POOL2D_H

#include "pool2d.h"
#include "q_clamp.h"

/* A pooling of int8 or int16. */
typedef struct {
    pl_pool2d_t pool;
    int32_t lo;
    int32_t hi;
} pl_q_tflm_pool2d_t;

/* v / n, half away from zero; |v| <= 2^24, 0 < n <= 2^16. Armv6-M has no division. */
static inline int32_t pl_q_average(int32_t v, int32_t n)
{
    const uint32_t size = (uint32_t)n;
    const uint32_t half = size >> 1;
    uint32_t rest = ((v < 0) ? (0u - (uint32_t)v) : (uint32_t)v) + half;
#if defined(__ARM_ARCH_ISA_THUMB) && (__ARM_ARCH_ISA_THUMB == 1)
    uint32_t quotient = 0u;
    uint32_t bit = 1u;
    uint32_t part = size;
    while (part <= (rest >> 1)) {
        part <<= 1;
        bit <<= 1;
    }
    for (; bit != 0u; bit >>= 1) {
        if (rest >= part) {
            rest -= part;
            quotient += bit;
        }
        part >>= 1;
    }
#else
    const uint32_t quotient = rest / size;
#endif
    return (v < 0) ? -(int32_t)quotient : (int32_t)quotient;
}

/* Averages as TFLM rounds them: padding does not count. Walks output pixels forward, four channels at a time. */
#define PL_Q_TFLM_AVERAGES(name, type)                                                                                 \
    static inline type name##_rounded(const pl_q_tflm_pool2d_t *q, int32_t sum, int32_t count)                         \
    {                                                                                                                  \
        return (type)pl_q_clamp(pl_q_average(sum, count), q->lo, q->hi);                                               \
    }                                                                                                                  \
    static inline void name##_window(const pl_q_tflm_pool2d_t *q, const type *x, type *y, int32_t rows,                \
                                     int32_t columns)                                                                  \
    {                                                                                                                  \
        const int32_t c = q->pool.c;                                                                                   \
        const int32_t row = (q->pool.iw - columns) * c;                                                                \
        const int32_t fours = c & ~3;                                                                                  \
        for (int32_t k = 0; k < fours; k += 4) {                                                                       \
            const type *p = x + k;                                                                                     \
            int32_t a0 = 0;                                                                                            \
            int32_t a1 = 0;                                                                                            \
            int32_t a2 = 0;                                                                                            \
            int32_t a3 = 0;                                                                                            \
            for (int32_t r = rows; r > 0; r--) {                                                                       \
                for (int32_t n = columns; n > 0; n--) {                                                                \
                    a0 += p[0];                                                                                        \
                    a1 += p[1];                                                                                        \
                    a2 += p[2];                                                                                        \
                    a3 += p[3];                                                                                        \
                    p = &p[c];                                                                                         \
                }                                                                                                      \
                p = &p[row];                                                                                           \
            }                                                                                                          \
            y[k] = name##_rounded(q, a0, rows * columns);                                                              \
            y[k + 1] = name##_rounded(q, a1, rows * columns);                                                          \
            y[k + 2] = name##_rounded(q, a2, rows * columns);                                                          \
            y[k + 3] = name##_rounded(q, a3, rows * columns);                                                          \
        }                                                                                                              \
        for (int32_t k = fours; k < c; k++) {                                                                          \
            const type *p = x + k;                                                                                     \
            int32_t sum = 0;                                                                                           \
            for (int32_t r = rows; r > 0; r--) {                                                                       \
                for (int32_t n = columns; n > 0; n--) {                                                                \
                    sum += *p;                                                                                         \
                    p = &p[c];                                                                                         \
                }                                                                                                      \
                p = &p[row];                                                                                           \
            }                                                                                                          \
            y[k] = name##_rounded(q, sum, rows * columns);                                                             \
        }                                                                                                              \
    }                                                                                                                  \
    static inline void name(const pl_q_tflm_pool2d_t *q, const type *x_start, type *y_start)                           \
    {                                                                                                                  \
        const type *x = x_start;                                                                                       \
        type *y = y_start;                                                                                             \
        const pl_pool2d_t *s = &q->pool;                                                                               \
        for (int32_t n = 0; n < s->n; n++) {                                                                           \
            for (int32_t pixel = 0; pixel < (s->oh * s->ow); pixel++) {                                                \
                const pl_span_t v = pl_pool_span((pixel / s->ow * s->sh) - s->top, s->kh, 1, s->ih);                   \
                const pl_span_t h = pl_pool_span((pixel % s->ow * s->sw) - s->left, s->kw, 1, s->iw);                  \
                name##_window(q, x + (((v.first * s->iw) + h.first) * s->c), y, v.end - v.first, h.end - h.first);     \
                y = &y[s->c];                                                                                          \
            }                                                                                                          \
            x = &x[s->ih * s->iw * s->c];                                                                              \
        }                                                                                                              \
    }

PL_Q_TFLM_AVERAGES(pl_q_tflm_avg_pool2d, int8_t)
PL_Q_TFLM_AVERAGES(pl_q_tflm_avg_pool2d_s16, int16_t)

#endif
