QEMU_MACHINE = virt
PT_NAME = RV32IMAC
# With this version of the specification the control registers are part of the base, as Debian's libraries have it.
PT_ARCH = rv32imac -misa-spec=2.2
PT_UART = 0x10000000
PT_IRQ = 10
include $(dir $(lastword $(MAKEFILE_LIST)))../riscv.mk
