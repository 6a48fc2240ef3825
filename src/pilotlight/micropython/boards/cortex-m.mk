QEMU_ARCH = arm
PT_START = cortex-m
BOARD_HZ = $(PT_CLOCK)
include $(PT_BOARDS)/common.mk

LDSCRIPT = $(PT_BOARDS)/cortex-m.ld
CFLAGS += $(PT_CPU)
# The port's faster collector is assembly for one core, which the linker refuses next to others.
SRC_BOARD_O += shared/runtime/gchelper_generic.o
