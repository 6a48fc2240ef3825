/* A Cortex-M board in an emulator: start-up, and text over semihosting. On a board of your own, its start-up code and
 * serial line take the place of this file. */
#include "platform.h"

#include <stdint.h>

#define SYS_WRITE0 0x04u
#define SYS_EXIT_EXTENDED 0x20u
#define APPLICATION_EXIT 0x20026u

extern uint32_t data_start[], data_end[], data_from[], bss_start[], bss_end[], stack_top[];
extern void (*init_array_start[])(void), (*init_array_end[])(void);

int main(void);
void reset(void);
void start(void);
void fault(void);

static void semihost(uint32_t operation, const void *block)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = block;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void end(uint32_t code)
{
    const uint32_t block[] = {APPLICATION_EXIT, code};
    for (;;) {
        semihost(SYS_EXIT_EXTENDED, block);
    }
}

void platform_print(const char *text, size_t bytes)
{
    char part[65];
    while (bytes) {
        size_t count = 0;
        for (; count < bytes && count < sizeof(part) - 1; count++) {
            part[count] = text[count];
        }
        part[count] = '\0';
        semihost(SYS_WRITE0, part);
        text += count;
        bytes -= count;
    }
}

void fault(void)
{
    platform_print("fault\n", 6);
    end(2);
}

void start(void)
{
    for (uint32_t *to = data_start, *from = data_from; to < data_end;) {
        *to++ = *from++;
    }
    for (uint32_t *to = bss_start; to < bss_end;) {
        *to++ = 0;
    }
    for (void (**init)(void) = init_array_start; init < init_array_end; init++) {
        (*init)();
    }
    end((uint32_t)main());
}

/* The floating-point unit, where there is one, is off at reset; nothing may be on the stack before this. */
__attribute__((naked)) void reset(void)
{
    __asm__ volatile(
#if defined(__ARM_FP)
        "ldr r0, =0xe000ed88\n"
        "ldr r1, [r0]\n"
        "ldr r2, =0x00f00000\n"
        "orrs r1, r2\n"
        "str r1, [r0]\n"
        "dsb\n"
        "isb\n"
#endif
        "ldr r0, =start\n"
        "bx r0\n");
}

typedef union {
    void (*handler)(void);
    void *stack;
} vector_t;

__attribute__((section(".vectors"), used)) static const vector_t vectors[16] = {
    {.stack = stack_top},
    {reset},
    {fault},
    {fault},
    {fault},
    {fault},
    {fault},
};
