QEMU_ARCH = riscv32
PT_START = riscv
RV32_ARCH = $(PT_ARCH)
include $(dir $(lastword $(MAKEFILE_LIST)))common.mk

LDSCRIPT = $(PT_BOARDS)riscv.ld
SRC_BOARD_O += shared/runtime/gchelper_native.o shared/runtime/gchelper_rv32i.o
MPY_CROSS_FLAGS += -march=rv32imc
