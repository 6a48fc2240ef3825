# `import _torch`: make USER_C_MODULES=path/to/the/folder/above
PT_DIR := $(USERMOD_DIR)
SRC_USERMOD_C += $(wildcard $(PT_DIR)/*.c) $(wildcard $(PT_DIR)/generated/*.c)
CFLAGS_USERMOD += -I$(PT_DIR) -I$(PT_DIR)/kernels
# More flags for the module's own files
$(BUILD)/torch/%.o: CFLAGS += $(PT_CFLAGS)
