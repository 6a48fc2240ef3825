QEMU_ARCH = riscv32
PT_START = riscv
BOARD_HZ = 10000000
# The port has -march and -mabi of its own. The version of the specification says whether control registers are part
# of the base, as Debian's libraries have it.
RV32_ARCH = $(patsubst -march=%,%,$(filter -march=%,$(PT_CPU))) $(filter -misa-spec=%,$(PT_CPU))
include $(PT_BOARDS)/common.mk

LDSCRIPT = $(PT_BOARDS)/riscv.ld
SRC_BOARD_O += shared/runtime/gchelper_native.o shared/runtime/gchelper_rv32i.o
