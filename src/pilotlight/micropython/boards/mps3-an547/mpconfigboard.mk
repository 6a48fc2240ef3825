QEMU_MACHINE = mps3-an547
PT_NAME = Cortex-M55
PT_CPU = -mcpu=cortex-m55 -mfloat-abi=hard
PT_UART = 0x49303000
PT_IRQ = 33
# The assembler file of the port names another core, which the linker refuses.
PT_COLLECTOR = gchelper_generic.o
MPY_CROSS_FLAGS += -march=armv7emdp
include $(dir $(lastword $(MAKEFILE_LIST)))../cortex-m.mk
