#ifndef PL_MATMUL_F32_H
#define PL_MATMUL_F32_H

#include <stdint.h>

/* The shape of batched matrix products: a (m, k) times b (k, n), or b (n, k) where it is transposed. Distances in
 * floats from one matrix of the batch to the next; 0 uses one matrix for all. */
typedef struct {
    int32_t batch, m, k, n;
    int32_t a_step, b_step;
    int32_t transposed;
} pl_matmul_t;

/* Four rows by four columns. a (4, k); b[p * bp + j * bj] is column j of row p; y rows are n apart. */
static inline void pl_matmul_4x4_f32(const float *a, const float *b, float *y, int32_t k, int32_t n, int32_t bp,
                                     int32_t bj)
{
    const float *a1 = a + k, *a2 = a1 + k, *a3 = a2 + k;
    float c00 = 0.0f, c01 = 0.0f, c02 = 0.0f, c03 = 0.0f, c10 = 0.0f, c11 = 0.0f, c12 = 0.0f, c13 = 0.0f;
    float c20 = 0.0f, c21 = 0.0f, c22 = 0.0f, c23 = 0.0f, c30 = 0.0f, c31 = 0.0f, c32 = 0.0f, c33 = 0.0f;
    for (int32_t p = 0; p < k; p++, b += bp) {
        const float b0 = b[0], b1 = b[bj], b2 = b[2 * bj], b3 = b[3 * bj];
        float v = a[p];
        c00 += v * b0, c01 += v * b1, c02 += v * b2, c03 += v * b3;
        v = a1[p];
        c10 += v * b0, c11 += v * b1, c12 += v * b2, c13 += v * b3;
        v = a2[p];
        c20 += v * b0, c21 += v * b1, c22 += v * b2, c23 += v * b3;
        v = a3[p];
        c30 += v * b0, c31 += v * b1, c32 += v * b2, c33 += v * b3;
    }
    y[0] = c00, y[1] = c01, y[2] = c02, y[3] = c03;
    y += n;
    y[0] = c10, y[1] = c11, y[2] = c12, y[3] = c13;
    y += n;
    y[0] = c20, y[1] = c21, y[2] = c22, y[3] = c23;
    y += n;
    y[0] = c30, y[1] = c31, y[2] = c32, y[3] = c33;
}

/* One row by four columns. */
static inline void pl_matmul_1x4_f32(const float *a, const float *b, float *y, int32_t k, int32_t bp, int32_t bj)
{
    float c0 = 0.0f, c1 = 0.0f, c2 = 0.0f, c3 = 0.0f;
    for (int32_t p = 0; p < k; p++, b += bp) {
        const float v = a[p];
        c0 += v * b[0], c1 += v * b[bj], c2 += v * b[2 * bj], c3 += v * b[3 * bj];
    }
    y[0] = c0, y[1] = c1, y[2] = c2, y[3] = c3;
}

/* One element. */
static inline float pl_matmul_1x1_f32(const float *a, const float *b, int32_t k, int32_t bp)
{
    float c = 0.0f;
    for (int32_t p = 0; p < k; p++, b += bp) {
        c += a[p] * b[0];
    }
    return c;
}

/* y (batch, m, n), in blocks of four rows by four columns. */
static inline void pl_matmul_f32(const pl_matmul_t *s, const float *a, const float *b, float *y)
{
    const int32_t k = s->k, n = s->n;
    const int32_t bp = s->transposed ? 1 : n, bj = s->transposed ? k : 1;
    for (int32_t t = 0; t < s->batch; t++, a += s->a_step, b += s->b_step, y += s->m * n) {
        int32_t rows;
        for (int32_t i = 0; i < s->m; i += rows) {
            rows = i + 4 <= s->m ? 4 : 1;
            int32_t j = 0;
            for (; j + 4 <= n; j += 4) {
                if (rows == 4) {
                    pl_matmul_4x4_f32(a + i * k, b + j * bj, y + i * n + j, k, n, bp, bj);
                } else {
                    pl_matmul_1x4_f32(a + i * k, b + j * bj, y + i * n + j, k, bp, bj);
                }
            }
            for (; j < n; j++) {
                for (int32_t r = i; r < i + rows; r++) {
                    y[r * n + j] = pl_matmul_1x1_f32(a + r * k, b + j * bj, k, bp);
                }
            }
        }
    }
}

#endif
