#ifndef PL_INTEGER_H
#define PL_INTEGER_H

#include <stdint.h>

/* The value of an expression as another type, in two's complement. */
static inline int32_t pl_signed(uint32_t v) { return (int32_t)v; }

static inline uint32_t pl_unsigned(int32_t v) { return (uint32_t)v; }

static inline int64_t pl_signed64(uint64_t v) { return (int64_t)v; }

static inline uint64_t pl_unsigned64(int64_t v) { return (uint64_t)v; }

static inline float pl_float(int32_t v) { return (float)v; }

/* v / 2^n rounded down for a constant n, 0 <= n <= 30: C leaves it to the compiler what `v >> n` is where v is negative.
 * Without its lower bits the quotient is exact, which compilers make one instruction of. */
static inline int32_t pl_shr(int32_t v, uint32_t n)
{
    const uint32_t one = 1u;
    const uint32_t lower = (uint32_t)v & ((one << n) - 1u);
    return (v - (int32_t)lower) / pl_signed(one << n);
}

/* The same for any n, 0 <= n <= 31. */
static inline int32_t pl_shr_by(int32_t v, int32_t n)
{
#if defined(__GNUC__) && defined(__ARM_ARCH_ISA_THUMB) && (__ARM_ARCH_ISA_THUMB == 2)
    int32_t y;
    __asm__("asr %0, %1, %2" : "=r"(y) : "r"(v), "r"(n));
    return y;
#elif defined(__GNUC__) && defined(__riscv) && (__riscv_xlen == 32)
    int32_t y;
    __asm__("sra %0, %1, %2" : "=r"(y) : "r"(v), "r"(n));
    return y;
#else
    const uint32_t sign = 0x80000000u >> (uint32_t)n;
    const uint32_t moved = ((uint32_t)v >> (uint32_t)n) ^ sign;
    return pl_signed(moved - sign);
#endif
}

#endif
