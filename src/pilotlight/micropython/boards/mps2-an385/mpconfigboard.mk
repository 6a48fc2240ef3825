QEMU_MACHINE = mps2-an385
PT_NAME = Cortex-M3
PT_CPU = -mcpu=cortex-m3 -mfloat-abi=soft
PT_UART = 0x40004000
PT_IRQ = 0
MPY_CROSS_FLAGS += -march=armv7m
include $(dir $(lastword $(MAKEFILE_LIST)))../cortex-m.mk
