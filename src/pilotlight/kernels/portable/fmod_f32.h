#ifndef PL_FMOD_F32_H
#define PL_FMOD_F32_H

#include "abs_f32.h"
#include "integer.h"

/* The mantissa with its leading bit in place, for denormals too; moves the exponent `*e` with it. */
static inline uint32_t pl_mantissa(uint32_t u_start, int32_t *e)
{
    uint32_t u = u_start;
    int32_t exponent = (int32_t)(u >> 23);
    if (exponent != 0) {
        u = (u & 0x007fffffu) | 0x00800000u;
    } else {
        exponent = 1;
        while (u < 0x00800000u) {
            u <<= 1;
            exponent--;
        }
    }
    *e = exponent;
    return u;
}

/* a - b * trunc(a / b), exact: long division in binary. The sign is that of a. */
static inline float pl_fmod_f32(float a, float b)
{
    uint32_t ua = pl_bits(pl_abs_f32(a));
    uint32_t ub = pl_bits(pl_abs_f32(b));
    float y = a;
    if ((ua >= 0x7f800000u) || (ub > 0x7f800000u) || (ub == 0u)) {
        y = pl_nan();
    } else if (ua >= ub) {
        int32_t ea;
        int32_t eb;
        ua = pl_mantissa(ua, &ea);
        ub = pl_mantissa(ub, &eb);
        for (; ea > eb; ea--) {
            ua = (ua >= ub) ? (ua - ub) : ua;
            ua <<= 1;
        }
        ua = (ua >= ub) ? (ua - ub) : ua;
        for (; (ua != 0u) && (ua < 0x00800000u) && (eb > 1); eb--) {
            ua <<= 1;
        }
        if (eb < 1) {
            ua >>= pl_unsigned(1 - eb); /* exact: b was a denormal, so these bits are zero */
        } else if (ua >= 0x00800000u) {
            ua = (ua - 0x00800000u) | ((uint32_t)eb << 23);
        } else {
            /* a denormal has no exponent */
        }
        y = pl_copysign_f32(pl_from_bits(ua), a);
    } else {
        /* a is the rest */
    }
    return y;
}

#endif
