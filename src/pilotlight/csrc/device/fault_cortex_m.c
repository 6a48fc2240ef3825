/* Reads what a Cortex-M pushed when it faulted; Armv6-M has no fault status registers. */
#include "pl_fault.h"

extern uint32_t pl_stack_low[];
extern uint32_t pl_stack_top[];

void pl_cortex_m_fault(const uint32_t *frame, uint32_t exception);

#define CFSR 0xE000ED28u
#define BFAR 0xE000ED38u
#define FRAME_LR 5
#define FRAME_PC 6
#define FRAME_WORDS 8

void pl_cortex_m_fault(const uint32_t *frame, uint32_t exception)
{
    uint32_t cause = 0u;
    uint32_t address = 0u;
    (void)exception;
#if __ARM_ARCH > 6
    cause = *(const volatile uint32_t *)CFSR;
    address = *(const volatile uint32_t *)BFAR;
#endif
    if ((frame < pl_stack_low) || (&frame[FRAME_WORDS] > pl_stack_top)) {
        pl_fault("stack overflow", cause, 0u, 0u, (uint32_t)(uintptr_t)frame);
    } else {
        pl_fault((exception == 3u) ? "hard fault" : "unexpected exception", cause, frame[FRAME_PC], frame[FRAME_LR],
                 address);
    }
}
