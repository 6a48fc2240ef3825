#ifndef PL_ALIAS_H
#define PL_ALIAS_H

#include <stdint.h>

/* Elements by size, for kernels that move data and do not care what it means: these may alias any type. */
#if defined(__GNUC__)
#define PL_ALIAS __attribute__((__may_alias__))
#else
#define PL_ALIAS
#endif
typedef uint8_t pl_u8;
typedef uint16_t PL_ALIAS pl_u16;
typedef uint32_t PL_ALIAS pl_u32;
typedef uint64_t PL_ALIAS pl_u64;

#endif
