QEMU_ARCH = arm
PT_START = cortex-m
include $(dir $(lastword $(MAKEFILE_LIST)))common.mk

LDSCRIPT = $(PT_BOARDS)cortex-m.ld
CFLAGS += -mthumb
PT_COLLECTOR ?= gchelper_native.o gchelper_thumb2.o
SRC_BOARD_O += $(addprefix shared/runtime/,$(PT_COLLECTOR))
