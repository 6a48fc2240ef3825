/* Start-up, serial line and clock of the Cortex-M boards: a CMSDK UART whose receiver interrupts, and SysTick. */
#include "receive.h"

#include "clock.h"

typedef struct {
    volatile uint32_t data, state, control, interrupt, divider;
} cmsdk_uart_t;

#define UART ((cmsdk_uart_t *)PT_UART)
#define TRANSMIT_FULL 1u
#define RECEIVE_FULL 2u
#define TRANSMIT_ON 1u
#define RECEIVE_ON 2u
#define RECEIVE_INTERRUPT 8u
#define NVIC_ENABLE ((volatile uint32_t *)0xe000e100u)

typedef struct {
    volatile uint32_t control, reload, value;
} systick_t;

#define SYSTICK ((systick_t *)0xe000e010u)
#define COUNT_CORE_CLOCK_AND_INTERRUPT 7u
#define LONGEST 0xffffffu
#define PENDING (*(volatile uint32_t *)0xe000ed04u)
#define SYSTICK_PENDING (1u << 26)

extern uint32_t _estack;
void Reset_Handler(void);
void NMI_Handler(void);
void HardFault_Handler(void);
void MemManage_Handler(void);
void BusFault_Handler(void);
void UsageFault_Handler(void);
void SVC_Handler(void);
void DebugMon_Handler(void);
void PendSV_Handler(void);
void board_reset(void);

/* The floating-point unit, where there is one, is off at reset; nothing may be on the stack before this. */
__attribute__((naked)) void board_reset(void)
{
    __asm volatile("ldr r0, =0xe000ed88\n"
                   "ldr r1, [r0]\n"
                   "orr r1, r1, #0xf00000\n"
                   "str r1, [r0]\n"
                   "dsb\n"
                   "isb\n"
                   "b Reset_Handler\n");
}

static void uart_interrupt(void)
{
    UART->interrupt = 3;
    while (UART->state & RECEIVE_FULL) {
        if (is_full()) {
            UART->control = TRANSMIT_ON | RECEIVE_ON;
            return;
        }
        receive((int)(UART->data & 0xff));
    }
}

static volatile uint32_t rounds;

static void systick_interrupt(void) { rounds++; }

/* The counter goes down; the interrupt for its last round may be waiting. */
uint64_t board_ticks(void)
{
    uint32_t before, value, missed;
    do {
        before = rounds;
        value = SYSTICK->value;
        missed = PENDING & SYSTICK_PENDING ? 1 : 0;
        value = missed ? SYSTICK->value : value;
    } while (before != rounds);
    return ((uint64_t)(before + missed) << 24) + (LONGEST - value);
}

typedef union {
    void (*handler)(void);
    void *stack;
} vector_t;

__attribute__((section(".board_vectors"), used)) static const vector_t vectors[16 + PT_IRQ + 2] = {
    {.stack = &_estack},
    {board_reset},
    {NMI_Handler},
    {HardFault_Handler},
    {MemManage_Handler},
    {BusFault_Handler},
    {UsageFault_Handler},
    {0},
    {0},
    {0},
    {0},
    {SVC_Handler},
    {DebugMon_Handler},
    {0},
    {PendSV_Handler},
    {systick_interrupt},
    [16 + PT_IRQ] = {uart_interrupt},
};

void uart_init(void)
{
    UART->divider = 16;
    UART->control = TRANSMIT_ON | RECEIVE_ON | RECEIVE_INTERRUPT;
    NVIC_ENABLE[PT_IRQ / 32] = 1u << (PT_IRQ % 32);
    SYSTICK->reload = LONGEST;
    SYSTICK->value = 0;
    SYSTICK->control = COUNT_CORE_CLOCK_AND_INTERRUPT;
}

/* Sleeps until something happens: a waiting prompt uses no CPU time. */
int uart_rx_chr(void)
{
    if (first == last) {
        __asm volatile("cpsid i" ::: "memory");
        if (first == last) {
            __asm volatile("wfi");
        }
        __asm volatile("cpsie i\n isb" ::: "memory");
        return UART_RX_NO_CHAR;
    }
    const int character = take();
    UART->control = TRANSMIT_ON | RECEIVE_ON | RECEIVE_INTERRUPT;
    if (UART->state & RECEIVE_FULL) {
        __asm volatile("cpsid i" ::: "memory");
        uart_interrupt();
        __asm volatile("cpsie i" ::: "memory");
    }
    return character;
}

void uart_tx_strn(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        while (UART->state & TRANSMIT_FULL) {
        }
        UART->data = (uint8_t)text[i];
    }
}
