/* The counter of cycles that the core has: mcycle of RISC-V, DWT of Armv7-M and later. Armv6-M has none: a port reads a
 * timer there. */
#include "pl_io.h"

#if defined(__riscv)
uint32_t pl_io_cycles(void)
{
    uint32_t count;
    __asm__ volatile("csrr %0, mcycle" : "=r"(count));
    return count;
}
#elif defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && __ARM_ARCH >= 7
#define DEMCR 0xE000EDFCu
#define DWT_CTRL 0xE0001000u
#define DWT_CYCCNT 0xE0001004u
#define TRACE_ENABLE 0x01000000u
#define COUNT_ENABLE 1u

uint32_t pl_io_cycles(void)
{
    *(volatile uint32_t *)DEMCR |= TRACE_ENABLE;
    *(volatile uint32_t *)DWT_CTRL |= COUNT_ENABLE;
    return *(const volatile uint32_t *)DWT_CYCCNT;
}
#endif
