/* Start-up for Arm Cortex-M: vector table, reset, faults, and the call that is measured.
 * Only instructions that Cortex-M0 also has. */
    .syntax unified
    .thumb

    .section .vectors, "a"
    .globl pl_vectors
pl_vectors:
    .word pl_stack_top
    .word pl_reset
    .rept 14
    .word pl_exception
    .endr

    .section .text.pl_reset, "ax"
    .globl pl_reset
    .thumb_func
    .type pl_reset, %function
pl_reset:
#if defined(__ARM_FP)
    /* The floating-point unit is off at reset: full access to coprocessors 10 and 11 in CPACR. */
    ldr r0, =0xE000ED88
    ldr r1, [r0]
    ldr r2, =0x00F00000
    orrs r1, r2
    str r1, [r0]
    dsb
    isb
#endif
    ldr r0, =pl_bss_start
    ldr r1, =pl_bss_end
    movs r2, #0
    b 2f
1:  str r2, [r0]
    adds r0, r0, #4
2:  cmp r0, r1
    blo 1b
    bl pl_serve
    movs r0, #0
    bl pl_io_exit
    .size pl_reset, . - pl_reset

    /* Any exception is a fault. The stack may be what broke: go on with a fresh one. */
    .section .text.pl_exception, "ax"
    .globl pl_exception
    .thumb_func
    .type pl_exception, %function
pl_exception:
    mov r0, sp
    mrs r1, ipsr
    ldr r2, =pl_stack_top
    mov sp, r2
    bl pl_cortex_m_fault
    .size pl_exception, . - pl_exception

    .section .text.pl_semihost, "ax"
    .globl pl_semihost
    .thumb_func
    .type pl_semihost, %function
pl_semihost:
    bkpt 0xab
    bx lr
    .size pl_semihost, . - pl_semihost

    /* uint8_t *pl_call_run(const NAME_t *m, uint32_t *low, uint32_t paint, void (*run)(const NAME_t *m)): paints
     * the stack from `low` up to the stack pointer the model will see, runs the model and gives that stack pointer. */
    .section .text.pl_call_run, "ax"
    .globl pl_call_run
    .thumb_func
    .type pl_call_run, %function
pl_call_run:
    push {r4, lr}
    mov r4, sp
    b 2f
1:  str r2, [r1]
    adds r1, r1, #4
2:  cmp r1, r4
    blo 1b
    blx r3
    .globl pl_run_done
pl_run_done:
    mov r0, r4
    pop {r4, pc}
    .size pl_call_run, . - pl_call_run
