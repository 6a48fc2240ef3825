QEMU_MACHINE = mps2-an386
PT_NAME = Cortex-M4F
PT_CPU = -mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard
PT_UART = 0x40004000
PT_IRQ = 0
MPY_CROSS_FLAGS += -march=armv7emsp
include $(dir $(lastword $(MAKEFILE_LIST)))../cortex-m.mk
