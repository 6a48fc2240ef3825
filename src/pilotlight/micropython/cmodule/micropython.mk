# `import _torch`: make USER_C_MODULES=path/to/the/folder/above
PT_DIR := $(USERMOD_DIR)
SRC_USERMOD_C += $(wildcard $(PT_DIR)/*.c) $(wildcard $(PT_DIR)/generated/*.c)
CFLAGS_USERMOD += -I$(PT_DIR) -I$(PT_DIR)/kernels
# More flags for the module's own files
$(BUILD)/torch/%.o: CFLAGS += $(PT_CFLAGS)
# Where MicroPython itself computes with objects, compares or formats them, it asks the module about tensors: core.h
$(BUILD)/py/vm.o $(BUILD)/py/nativeglue.o: CFLAGS += -Dmp_binary_op=pt_operate
$(BUILD)/py/objfloat.o: CFLAGS += -Dmp_obj_get_float_maybe=pt_float_maybe -Dmp_get_buffer=pt_text_buffer
$(BUILD)/py/objcomplex.o: CFLAGS += -Dmp_obj_get_complex_maybe=pt_complex_maybe
$(BUILD)/py/objstr.o: CFLAGS += -include $(PT_DIR)/format.h
$(BUILD)/py/modbuiltins.o $(BUILD)/py/objlist.o $(BUILD)/py/sequence.o $(BUILD)/extmod/modheapq.o: CFLAGS += \
	-Dmp_binary_op=pt_compare
$(BUILD)/py/sequence.o $(BUILD)/py/objdict.o $(BUILD)/py/runtime.o: CFLAGS += -Dmp_obj_equal=pt_same_item
$(BUILD)/py/map.o: CFLAGS += -Dmp_obj_equal=pt_same_key
$(BUILD)/py/builtinhelp.o: CFLAGS += -Dmp_obj_print=pt_describe
# The prompt on a computer: terminal.c
$(BUILD)/unix_mphal.o: CFLAGS += -Dtcsetattr=pt_tcsetattr -Dread=pt_read
$(BUILD)/input.o: CFLAGS += -Dgetenv=pt_getenv
