/* Stands in for Arm's driver in tests: checks every argument of a call against expected.h, which the test writes, and
 * plays back the results of an NPU. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    size_t offset;
    size_t bytes;
    const uint8_t *data;
} tensor_t;

typedef struct {
    size_t commands_size;
    const uint8_t *commands;
    size_t weights_size;
    const uint8_t *weights;
    size_t scratch_size;
    size_t inputs;
    const tensor_t *input;
    size_t outputs;
    const tensor_t *output;
} expected_t;

#include "expected.h"

struct ethosu_driver {
    int reserved;
};

static struct ethosu_driver only;
static size_t calls;

static void check(int holds, const char *what)
{
    if (!holds) {
        printf("call %u: %s\n", (unsigned)calls, what);
        exit(3);
    }
}

struct ethosu_driver *ethosu_reserve_driver(void)
{
    check(only.reserved == 0, "reserved twice");
    only.reserved = 1;
    return (getenv("NO_DRIVER") != NULL) ? NULL : &only;
}

void ethosu_release_driver(struct ethosu_driver *drv)
{
    check((drv == &only) && (drv->reserved == 1), "released what was not reserved");
    drv->reserved = 0;
}

int ethosu_invoke_v3(struct ethosu_driver *drv, const void *custom_data_ptr, const int custom_data_size,
                     uint64_t *const base_addr, const size_t *base_addr_size, const int num_base_addr, void *user_arg)
{
    check(calls < (sizeof(expected) / sizeof(expected[0])), "one call too many");
    const expected_t *const e = &expected[calls];
    const char *const error = getenv("DRIVER_ERROR");
    check((drv == &only) && (drv->reserved == 1), "the driver is not reserved");
    check(((uintptr_t)custom_data_ptr % 16u) == 0u, "the commands are not aligned");
    check((size_t)custom_data_size == e->commands_size, "the commands have another size");
    check(memcmp(custom_data_ptr, e->commands, e->commands_size) == 0, "the commands are others");
    check(memcmp(custom_data_ptr, "COP1", 4u) == 0, "the commands are no payload of the driver");
    check(num_base_addr == 2, "there are not two regions");
    check(((base_addr[0] % 16u) == 0u) && ((base_addr[1] % 16u) == 0u), "a region is not aligned");
    check(base_addr_size[0] == e->weights_size, "the weights have another size");
    check(base_addr_size[1] == e->scratch_size, "scratch has another size");
    check(memcmp((const void *)(uintptr_t)base_addr[0], e->weights, e->weights_size) == 0, "the weights are others");
    check(user_arg == NULL, "there is an argument of the user");
    if (error != NULL) {
        return atoi(error);
    }
    uint8_t *const scratch = (uint8_t *)(uintptr_t)base_addr[1];
    for (size_t i = 0u; i < e->inputs; i++) {
        check(memcmp(&scratch[e->input[i].offset], e->input[i].data, e->input[i].bytes) == 0, "an input is another");
    }
    memset(scratch, 0x5A, e->scratch_size); /* an NPU may use all of it */
    for (size_t i = 0u; i < e->outputs; i++) {
        memcpy(&scratch[e->output[i].offset], e->output[i].data, e->output[i].bytes);
    }
    calls++;
    return 0;
}

static uint8_t arena[MODEL_ARENA_SIZE] __attribute__((aligned(16)));

/* Inputs come on standard input, outputs go to standard output; the exit code is 1 where the run returned an error. */
int main(void)
{
    const model_t model = {MODEL_WEIGHTS, arena, NULL};
    check(fread(model_input(&model), 1u, INPUT_BYTES, stdin) == INPUT_BYTES, "no input");
    const int32_t status = model_run(&model);
    if (status != 0) {
        printf("%d\n", (int)status);
        return 1;
    }
    check(calls == (sizeof(expected) / sizeof(expected[0])), "a call is missing");
    return (fwrite(model_output(&model), 1u, OUTPUT_BYTES, stdout) == OUTPUT_BYTES) ? 0 : 2;
}
