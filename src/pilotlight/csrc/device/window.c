/* Code that the computer sends and calls, for trying kernels out: only in builds with PL_WINDOW_BYTES, on boards that
 * execute what is in their RAM. A core with caches also needs a port that cleans them. */
#include "pl_window.h"

#if defined(PL_WINDOW_BYTES)
typedef uint32_t pl_code_t(uint32_t argument);

static uint32_t window[PL_WINDOW_BYTES / 4u];

pl_port_t pl_window(void)
{
    const pl_port_t port = {(uint8_t *)window, (uint32_t)sizeof window};
    return port;
}

uint32_t pl_window_call(uint32_t offset, uint32_t argument)
{
    uintptr_t address = (uintptr_t)window + offset;
#if defined(__thumb__)
    address |= 1u;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
#elif defined(__riscv)
    __asm__ volatile(".word 0x0000100f" ::: "memory"); /* fence.i, which not every -march lets assemble */
#endif
    return ((pl_code_t *)address)(argument);
}
#endif
