/* Serial line and clock of the RISC-V board: a 16550 UART whose receiver interrupts through the PLIC, and the CLINT. */
#include "receive.h"

#include "clock.h"

typedef struct {
    volatile uint8_t data, interrupts, fifo, line, modem, status;
} ns16550_t;

#define UART ((ns16550_t *)PT_UART)
#define RECEIVED_ONE 0x01u
#define TRANSMIT_EMPTY 0x20u
#define PLIC_PRIORITY ((volatile uint32_t *)0x0c000000u)
#define PLIC_ENABLE ((volatile uint32_t *)0x0c002000u)
#define PLIC_CLAIM (*(volatile uint32_t *)0x0c200004u)
#define MTIME ((volatile uint32_t *)0x0200bff8u) /* 10 MHz */
#define EXTERNAL (1u << 11)
#define MIE 8u

void board_external(void);
void board_vectors(void);

static void drain(void)
{
    while (UART->status & RECEIVED_ONE) {
        if (is_full()) {
            UART->interrupts = 0;
            return;
        }
        receive(UART->data);
    }
}

__attribute__((interrupt("machine"))) void board_external(void)
{
    const uint32_t source = PLIC_CLAIM;
    drain();
    if (source) {
        PLIC_CLAIM = source;
    }
}

/* Exceptions go where the port sends them; entry 11 is the machine's external interrupt. */
__attribute__((naked, aligned(256))) void board_vectors(void)
{
    __asm volatile(".option push\n"
                   ".option norvc\n"
                   "j mtvec_exception\n"
                   ".rept 10\n"
                   "j .\n"
                   ".endr\n"
                   "j board_external\n"
                   ".option pop\n");
}

uint64_t board_ticks(void)
{
    uint32_t high, low;
    do {
        high = MTIME[1];
        low = MTIME[0];
    } while (high != MTIME[1]);
    return (uint64_t)high << 32 | low;
}

void uart_init(void)
{
    PLIC_PRIORITY[PT_IRQ] = 1;
    PLIC_ENABLE[PT_IRQ / 32] = 1u << (PT_IRQ % 32);
    UART->interrupts = RECEIVED_ONE;
    __asm volatile("csrw mtvec, %0" ::"r"((uintptr_t)board_vectors + 1));
    __asm volatile("csrs mie, %0" ::"r"(EXTERNAL));
    __asm volatile("csrs mstatus, %0" ::"r"(MIE));
}

/* Sleeps until something happens: a waiting prompt uses no CPU time. */
int uart_rx_chr(void)
{
    __asm volatile("csrc mstatus, %0" ::"r"(MIE) : "memory");
    int character = UART_RX_NO_CHAR;
    if (first != last) {
        character = take();
        UART->interrupts = RECEIVED_ONE;
        drain();
    } else {
        __asm volatile("wfi");
    }
    __asm volatile("csrs mstatus, %0" ::"r"(MIE) : "memory");
    return character;
}

void uart_tx_strn(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        while (!(UART->status & TRANSMIT_EMPTY)) {
        }
        UART->data = (uint8_t)text[i];
    }
}
