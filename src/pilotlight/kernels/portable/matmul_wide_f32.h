#ifndef PL_MATMUL_WIDE_F32_H
#define PL_MATMUL_WIDE_F32_H

#include "matmul_f32.h"

/* The products of matmul_f32.h on hosts, whose compilers make vector instructions of vector types; elsewhere they are
 * those of matmul_f32.h. */
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))

/* Eight floats that may lie anywhere; they are never passed or returned: how that is done depends on the machine. */
typedef float pl_wide_t __attribute__((vector_size(32), aligned(4), __may_alias__));

enum { PL_WIDE = 8, PL_WIDE_COLUMNS = 16 };

/* Four rows by sixteen neighbouring columns. */
static inline void pl_wide_4x16_f32(const pl_matmul_t *s, const float *a, const float *b_start, float *y_start)
{
    const float *b = b_start;
    float *y = y_start;
    const float *a1 = a + s->a_row;
    const float *a2 = a1 + s->a_row;
    const float *a3 = a2 + s->a_row;
    pl_wide_t c00 = {0};
    pl_wide_t c01 = {0};
    pl_wide_t c10 = {0};
    pl_wide_t c11 = {0};
    pl_wide_t c20 = {0};
    pl_wide_t c21 = {0};
    pl_wide_t c30 = {0};
    pl_wide_t c31 = {0};
    for (int32_t p = 0; p < s->k; p++) {
        const pl_wide_t b0 = *(const pl_wide_t *)b;
        const pl_wide_t b1 = *(const pl_wide_t *)(b + PL_WIDE);
        c00 += a[p] * b0;
        c01 += a[p] * b1;
        c10 += a1[p] * b0;
        c11 += a1[p] * b1;
        c20 += a2[p] * b0;
        c21 += a2[p] * b1;
        c30 += a3[p] * b0;
        c31 += a3[p] * b1;
        b = &b[s->b_row];
    }
    *(pl_wide_t *)y = c00, *(pl_wide_t *)(y + PL_WIDE) = c01;
    y = &y[s->y_row];
    *(pl_wide_t *)y = c10, *(pl_wide_t *)(y + PL_WIDE) = c11;
    y = &y[s->y_row];
    *(pl_wide_t *)y = c20, *(pl_wide_t *)(y + PL_WIDE) = c21;
    y = &y[s->y_row];
    *(pl_wide_t *)y = c30, *(pl_wide_t *)(y + PL_WIDE) = c31;
}

/* One row by sixteen neighbouring columns. */
static inline void pl_wide_1x16_f32(const pl_matmul_t *s, const float *a, const float *b_start, float *y)
{
    const float *b = b_start;
    pl_wide_t c0 = {0};
    pl_wide_t c1 = {0};
    for (int32_t p = 0; p < s->k; p++) {
        c0 += a[p] * *(const pl_wide_t *)b;
        c1 += a[p] * *(const pl_wide_t *)(b + PL_WIDE);
        b = &b[s->b_row];
    }
    *(pl_wide_t *)y = c0, *(pl_wide_t *)(y + PL_WIDE) = c1;
}

static inline void pl_wide_sum_f32(const pl_wide_t *c, float rest, float *y)
{
    const float *v = (const float *)c;
    *y = (((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7]))) + rest;
}

/* One row of a with four columns of b, each of which is a run of neighbours. */
static inline void pl_wide_dots_f32(const pl_matmul_t *s, const float *a, const float *b, float *y)
{
    const float *b1 = b + s->b_col;
    const float *b2 = b1 + s->b_col;
    const float *b3 = b2 + s->b_col;
    pl_wide_t c0 = {0};
    pl_wide_t c1 = {0};
    pl_wide_t c2 = {0};
    pl_wide_t c3 = {0};
    float r0 = 0.0f;
    float r1 = 0.0f;
    float r2 = 0.0f;
    float r3 = 0.0f;
    int32_t p = 0;
    for (; (p + PL_WIDE) <= s->k; p += PL_WIDE) {
        const pl_wide_t v = *(const pl_wide_t *)(a + p);
        c0 += v * *(const pl_wide_t *)(b + p);
        c1 += v * *(const pl_wide_t *)(b1 + p);
        c2 += v * *(const pl_wide_t *)(b2 + p);
        c3 += v * *(const pl_wide_t *)(b3 + p);
    }
    for (; p < s->k; p++) {
        r0 += a[p] * b[p];
        r1 += a[p] * b1[p];
        r2 += a[p] * b2[p];
        r3 += a[p] * b3[p];
    }
    pl_wide_sum_f32(&c0, r0, y);
    pl_wide_sum_f32(&c1, r1, y + 1);
    pl_wide_sum_f32(&c2, r2, y + 2);
    pl_wide_sum_f32(&c3, r3, y + 3);
}

/* One matrix of the batch. Columns that fill no block are computed together with some that were computed before: y must
 * not overlap a and b. */
static inline void pl_matmul_wide_f32(const pl_matmul_t *s, const float *a, const float *b, float *y)
{
    const int32_t columns = (s->b_col == 1) ? PL_WIDE_COLUMNS : 4;
    if ((s->n < columns) || ((s->b_col != 1) && (s->b_row != 1))) {
        pl_matmul_one_f32(s, a, b, y);
        return;
    }
    for (int32_t next = 0; next < s->n; next += columns) {
        const int32_t j = ((next + columns) <= s->n) ? next : (s->n - columns);
        const float *column = b + (j * s->b_col);
        for (int32_t i = 0; i < s->m;) {
            const float *row = a + (i * s->a_row);
            float *to = y + (i * s->y_row) + j;
            if (s->b_col != 1) {
                pl_wide_dots_f32(s, row, column, to);
                i++;
            } else if ((i + 4) <= s->m) {
                pl_wide_4x16_f32(s, row, column, to);
                i += 4;
            } else {
                pl_wide_1x16_f32(s, row, column, to);
                i++;
            }
        }
    }
}

#else

static inline void pl_matmul_wide_f32(const pl_matmul_t *s, const float *a, const float *b, float *y)
{
    pl_matmul_one_f32(s, a, b, y);
}

#endif

#endif
