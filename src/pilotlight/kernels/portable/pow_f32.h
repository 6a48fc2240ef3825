#ifndef PL_POW_F32_H
#define PL_POW_F32_H

#include <stdbool.h>

#include "abs_f32.h"
#include "exp2_f32.h"
#include "log_f32.h"

/* A sum of two floats, the second far below the first: about 48 bits. */
typedef struct {
    float high;
    float low;
} pl_pair;

/* a + b exactly, for |a| >= |b|. */
static inline pl_pair pl_pair_sum(float a, float b)
{
    pl_pair p;
    p.high = a + b;
    p.low = b - (p.high - a);
    return p;
}

/* a * b exactly, by halves of 12 bits. */
static inline pl_pair pl_pair_product(float a, float b)
{
    const float high_a = pl_from_bits(pl_bits(a) & 0xfffff000u);
    const float low_a = a - high_a;
    const float high_b = pl_from_bits(pl_bits(b) & 0xfffff000u);
    const float low_b = b - high_b;
    pl_pair p;
    p.high = a * b;
    p.low = ((((high_a * high_b) - p.high) + (high_a * low_b)) + (low_a * high_b)) + (low_a * low_b);
    return p;
}

static inline pl_pair pl_pair_times(pl_pair a, pl_pair b)
{
    const pl_pair p = pl_pair_product(a.high, b.high);
    return pl_pair_sum(p.high, p.low + ((a.high * b.low) + (a.low * b.high)));
}

/* log2 x for 0 < x < infinity, relative error about 2^-37. With s = f / (2 + f):
 * log(1 + f) = 2 s + 2/3 s^3 + s^5 (2/5 + ...), the last term in single floats. */
static inline pl_pair pl_log2_pair(float x)
{
    const pl_pair log2e = {1.44269502f, 1.92596303e-8f};
    int32_t k;
    const float f = pl_log_reduced(x, &k);
    const pl_pair d = pl_pair_sum(2.0f, f);
    pl_pair s;
    pl_pair z;
    pl_pair c;
    pl_pair sum;
    pl_pair y;
    float p;
    s.high = f / d.high;
    z = pl_pair_product(s.high, d.high);
    s.low = (((f - z.high) - z.low) - (s.high * d.low)) / d.high;
    z = pl_pair_times(s, s);
    p = 2.34197631e-1f;
    p = (p * z.high) + 2.85470873e-1f;
    p = (p * z.high) + 4.00001526e-1f;
    c = pl_pair_sum(0.666666687f, p * z.high);
    c.low += (p * z.low) - 1.98682151e-8f;
    c = pl_pair_times(pl_pair_times(s, z), c);
    sum = pl_pair_sum(2.0f * s.high, c.high);
    sum.low += (2.0f * s.low) + c.low;
    y = pl_pair_times(pl_pair_sum(sum.high, sum.low), log2e);
    if (k != 0) {
        sum = pl_pair_sum((float)k, y.high);
        y = pl_pair_sum(sum.high, sum.low + y.low);
    }
    return y;
}

/* |x|^y for what is not finite and positive, given that neither is NaN. */
static inline float pl_pow_special(float a, float y)
{
    return (a == 1.0f) ? 1.0f : ((a > 1.0f) == (y > 0.0f)) ? pl_inf() : 0.0f;
}

/* x^y, at most 1.3 ulp from the exact value, with the special cases of C's pow. */
static inline float pl_pow_f32(float x, float y)
{
    const float a = pl_abs_f32(x);
    const float b = pl_abs_f32(y);
    bool odd = false;
    bool whole = true;
    float r;
    if (b < 16777216.0f) {
        const int32_t i = (int32_t)b;
        whole = (float)i == b;
        odd = whole && ((i & 1) != 0);
    }
    if ((y == 0.0f) || (x == 1.0f)) {
        r = 1.0f;
        odd = false;
    } else if ((x != x) || (y != y)) {
        r = x + y;
        odd = false;
    } else if ((a == 0.0f) || (a == pl_inf()) || (b == pl_inf())) {
        r = pl_pow_special(a, y);
    } else if (((pl_bits(x) >> 31) != 0u) && !whole) {
        r = pl_nan();
    } else {
        const pl_pair l = pl_log2_pair(a);
        const float t = y * l.high;
        if (!(pl_abs_f32(t) < 160.0f)) {
            r = (t > 0.0f) ? pl_inf() : 0.0f;
        } else {
            const pl_pair p = pl_pair_product(y, l.high);
            const float shifted = p.high + 12582912.0f;
            const float whole_part = shifted - 12582912.0f;
            r = pl_exp2_near_f32((p.high - whole_part) + (p.low + (y * l.low)));
            r = pl_scale_f32(r, pl_shifted_integer(shifted));
        }
    }
    return (odd && ((pl_bits(x) >> 31) != 0u)) ? -r : r;
}

#endif
