# What MicroPython's makefiles generate for an embedded interpreter: names, modules, error texts, frozen Python.
# MICROPYTHON_TOP is MicroPython's folder; EXTMOD are files of it besides those of its core; the interpreter's own files
# are in the folder where make runs.
SRC_QSTR += $(EXTMOD) interpreter.c files.c
MICROPY_ROM_TEXT_COMPRESSION = 1
MPY_CROSS_FLAGS += -msmall-int-bits=31
include $(MICROPYTHON_TOP)/ports/embed/embed.mk

.PHONY: generated
generated: $(GENHDR_OUTPUT) $(BUILD)/genhdr/compressed.data.h $(BUILD)/frozen_content.c
