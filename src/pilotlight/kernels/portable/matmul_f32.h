#ifndef PL_MATMUL_F32_H
#define PL_MATMUL_F32_H

#include "matmul.h"

/* Four rows by four columns. */
static inline void pl_matmul_4x4_f32(const pl_matmul_t *s, const float *a, const float *b_start, float *y_start)
{
    const float *b = b_start;
    float *y = y_start;
    const float *a1 = a + s->a_row;
    const float *a2 = a1 + s->a_row;
    const float *a3 = a2 + s->a_row;
    const int32_t next = s->b_col;
    float c00 = 0.0f;
    float c01 = 0.0f;
    float c02 = 0.0f;
    float c03 = 0.0f;
    float c10 = 0.0f;
    float c11 = 0.0f;
    float c12 = 0.0f;
    float c13 = 0.0f;
    float c20 = 0.0f;
    float c21 = 0.0f;
    float c22 = 0.0f;
    float c23 = 0.0f;
    float c30 = 0.0f;
    float c31 = 0.0f;
    float c32 = 0.0f;
    float c33 = 0.0f;
    for (int32_t p = 0; p < s->k; p++) {
        const float b0 = b[0];
        const float b1 = b[next];
        const float b2 = b[2 * next];
        const float b3 = b[3 * next];
        float v = a[p];
        c00 += v * b0;
        c01 += v * b1;
        c02 += v * b2;
        c03 += v * b3;
        v = a1[p];
        c10 += v * b0;
        c11 += v * b1;
        c12 += v * b2;
        c13 += v * b3;
        v = a2[p];
        c20 += v * b0;
        c21 += v * b1;
        c22 += v * b2;
        c23 += v * b3;
        v = a3[p];
        c30 += v * b0;
        c31 += v * b1;
        c32 += v * b2;
        c33 += v * b3;
        b = &b[s->b_row];
    }
    y[0] = c00;
    y[1] = c01;
    y[2] = c02;
    y[3] = c03;
    y = &y[s->y_row];
    y[0] = c10;
    y[1] = c11;
    y[2] = c12;
    y[3] = c13;
    y = &y[s->y_row];
    y[0] = c20;
    y[1] = c21;
    y[2] = c22;
    y[3] = c23;
    y = &y[s->y_row];
    y[0] = c30;
    y[1] = c31;
    y[2] = c32;
    y[3] = c33;
}

/* One row by four columns. */
static inline void pl_matmul_1x4_f32(const pl_matmul_t *s, const float *a, const float *b_start, float *y)
{
    const float *b = b_start;
    const int32_t next = s->b_col;
    float c0 = 0.0f;
    float c1 = 0.0f;
    float c2 = 0.0f;
    float c3 = 0.0f;
    for (int32_t p = 0; p < s->k; p++) {
        const float v = a[p];
        c0 += v * b[0];
        c1 += v * b[next];
        c2 += v * b[2 * next];
        c3 += v * b[3 * next];
        b = &b[s->b_row];
    }
    y[0] = c0;
    y[1] = c1;
    y[2] = c2;
    y[3] = c3;
}

/* One element. */
static inline float pl_matmul_1x1_f32(const pl_matmul_t *s, const float *a, const float *b_start)
{
    const float *b = b_start;
    float c = 0.0f;
    for (int32_t p = 0; p < s->k; p++) {
        c += a[p] * b[0];
        b = &b[s->b_row];
    }
    return c;
}

/* One matrix of the batch, in blocks of four rows by four columns. */
static inline void pl_matmul_one_f32(const pl_matmul_t *s, const float *a_start, const float *b, float *y_start)
{
    const float *a = a_start;
    float *y = y_start;
    const int32_t fours = s->n & ~3; // a constant once inlined, so that the compiler sees how often the rest runs
    int32_t rows;
    for (int32_t i = 0; i < s->m; i += rows) {
        rows = ((i + 4) <= s->m) ? 4 : 1;
        for (int32_t j = 0; j < fours; j += 4) {
            if (rows == 4) {
                pl_matmul_4x4_f32(s, a, b + (j * s->b_col), y + j);
            } else {
                pl_matmul_1x4_f32(s, a, b + (j * s->b_col), y + j);
            }
        }
        for (int32_t j = fours; j < s->n; j++) {
            for (int32_t r = 0; r < rows; r++) {
                y[(r * s->y_row) + j] = pl_matmul_1x1_f32(s, a + (r * s->a_row), b + (j * s->b_col));
            }
        }
        a = &a[rows * s->a_row];
        y = &y[rows * s->y_row];
    }
}

static inline void pl_matmul_f32(const pl_matmul_t *s, const float *a, const float *b, float *y)
{
    for (int32_t o = 0; o < s->outer; o++) {
        for (int32_t i = 0; i < s->inner; i++) {
            pl_matmul_one_f32(s, a + ((o * s->a_outer) + (i * s->a_inner)), b + ((o * s->b_outer) + (i * s->b_inner)),
                              y + ((o * s->y_outer) + (i * s->y_inner)));
        }
    }
}

#endif
