#ifndef PL_MEM_H
#define PL_MEM_H

#include <stdint.h>

/* The empty asm keeps the compiler from turning these loops into calls of memcpy, memmove and memset,
 * which a model linked without a C library would not have. */
#if defined(__GNUC__)
#define PL_BARRIER(p) __asm__ volatile("" : "+r"(p))
typedef uint32_t __attribute__((__may_alias__)) pl_word;
#else
#define PL_BARRIER(p) (void)(p)
typedef uint8_t pl_word;
#endif

/* Copies `bytes` from x to y; the two may overlap in either direction. */
static inline void pl_copy(void *y, const void *x, int32_t bytes_start)
{
    int32_t bytes = bytes_start;
    const uint8_t *from = (const uint8_t *)x;
    uint8_t *to = (uint8_t *)y;
    if (to != from) {
        if (((uintptr_t)to - (uintptr_t)from) >= (uintptr_t)bytes) { // below, where this wraps around, or apart
            const int32_t word = (int32_t)sizeof(pl_word);
            if ((((uintptr_t)to | (uintptr_t)from) & (sizeof(pl_word) - 1u)) == 0u) {
                for (; bytes >= word; bytes -= word) {
                    PL_BARRIER(to);
                    *(pl_word *)(void *)to = *(const pl_word *)(const void *)from;
                    to = &to[word];
                    from = &from[word];
                }
            }
            for (; bytes > 0; bytes--) {
                PL_BARRIER(to);
                *to = *from;
                to++;
                from++;
            }
        } else {
            while (bytes > 0) {
                bytes--;
                PL_BARRIER(to);
                to[bytes] = from[bytes];
            }
        }
    }
}

/* Writes `bytes` zero bytes to y. */
static inline void pl_zero(void *y, int32_t bytes)
{
    uint8_t *to = (uint8_t *)y;
    for (int32_t left = bytes; left > 0; left--) {
        PL_BARRIER(to);
        *to = 0u;
        to++;
    }
}

#endif
