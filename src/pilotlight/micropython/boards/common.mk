# What the boards of MicroPython's qemu port share. A board's own file, which ports.py writes from its TOML file, says:
# PT_CPU, the flags of its core; PT_NAME, its name; PT_UART, the address of its serial line; PT_IRQ, the number of that
# line's receive interrupt; PT_CLOCK, what its core runs at. PT_BOARDS is this folder.
.DEFAULT_GOAL := all

MICROPY_HEAP_SIZE ?= 1048576
CFLAGS += -DPT_UART=$(PT_UART) -DPT_IRQ=$(PT_IRQ) -DBOARD_HZ=$(BOARD_HZ)u -DMICROPY_HW_MCU_NAME='"$(PT_NAME)"'
# The port allows Python 10 KB of stack, which nested modules of a network exceed; there are 64 KB.
LDFLAGS += -L$(BOARD_DIR) -Wl,--wrap=mp_stack_set_limit
SRC_BOARD_O += board.o board_time.o
SRC_QSTR += $(PT_BOARDS)/time.c

$(BUILD)/board.o: $(PT_BOARDS)/$(PT_START).c $(PT_BOARDS)/receive.h $(PT_BOARDS)/clock.h
$(BUILD)/board_time.o: $(PT_BOARDS)/time.c $(PT_BOARDS)/clock.h
$(BUILD)/board.o $(BUILD)/board_time.o: | $(BUILD)/genhdr/qstrdefs.generated.h
	$(CC) $(CFLAGS) -c -o $@ $<
