/* Start-up for RV32: reset, traps, and the call that is measured. */
    .section .vectors, "ax"
    .globl pl_reset
    .type pl_reset, @function
pl_reset:
    la sp, pl_stack_top
    la t0, pl_trap
    csrw mtvec, t0
    la t0, pl_bss_start
    la t1, pl_bss_end
    j 2f
1:  sw zero, 0(t0)
    addi t0, t0, 4
2:  bltu t0, t1, 1b
    call pl_serve
    li a0, 0
    call pl_io_exit
    .size pl_reset, . - pl_reset

    /* Any trap is a fault. The stack may be what broke: go on with a fresh one. */
    .section .text.pl_trap, "ax"
    .balign 4
    .globl pl_trap
    .type pl_trap, @function
pl_trap:
    mv a3, ra
    la sp, pl_stack_top
    la a0, pl_trap_name
    csrr a1, mcause
    csrr a2, mepc
    csrr a4, mtval
    call pl_fault
    .size pl_trap, . - pl_trap

    .section .rodata.pl_trap_name, "a"
pl_trap_name:
    .asciz "trap"

    /* The three instructions must be these, uncompressed and in one page. */
    .section .text.pl_semihost, "ax"
    .balign 16
    .globl pl_semihost
    .type pl_semihost, @function
    .option push
    .option norvc
pl_semihost:
    slli zero, zero, 0x1f
    ebreak
    srai zero, zero, 7
    ret
    .option pop
    .size pl_semihost, . - pl_semihost

    /* uint8_t *pl_call_run(const NAME_t *m, uint32_t *low, uint32_t paint, void (*run)(const NAME_t *m)): paints
     * the stack from `low` up to the stack pointer the model will see, runs the model and gives that stack pointer. */
    .section .text.pl_call_run, "ax"
    .globl pl_call_run
    .type pl_call_run, @function
pl_call_run:
    addi sp, sp, -16
    sw ra, 12(sp)
    j 2f
1:  sw a2, 0(a1)
    addi a1, a1, 4
2:  bltu a1, sp, 1b
    jalr a3
    .globl pl_run_done
pl_run_done:
    mv a0, sp
    lw ra, 12(sp)
    addi sp, sp, 16
    ret
    .size pl_call_run, . - pl_call_run
