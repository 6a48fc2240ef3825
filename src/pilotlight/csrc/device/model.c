/* One model with its arena and state, for the server. The build writes pl_ports.h from metadata.json: it
 * includes NAME.h and maps the names used here to the model's, and lists its inputs and outputs. */
#include <stddef.h>

#if defined(PL_BARE)
#include "pl_fault.h"
#endif
#if defined(PL_STACK)
#include "pl_io.h"
#endif
#include "pl_model.h"
#include "pl_ports.h"
#include "pl_protocol.h"

#if defined(PL_STEPS)
#include "pl_step.h"
#else
#define pl_begin_steps()
#define pl_end_steps()
#endif

/* On a board the linker script places these; elsewhere a section of their own would hide them from sanitizers. */
#if defined(PL_BARE)
#define PLACED(section_name) __attribute__((section(section_name), aligned(PL_MODEL_ALIGN)))
#else
#define PLACED(section_name) __attribute__((aligned(PL_MODEL_ALIGN)))
#endif

static uint8_t arena[PL_MODEL_ARENA_SIZE] PLACED(".bss.pl_arena");
#if PL_MODEL_STATE_SIZE > 0
static uint8_t state[PL_MODEL_STATE_SIZE] PLACED(".bss.pl_state");
#else
static uint8_t *const state = NULL;
#endif

static const pl_model_t model = {PL_MODEL_WEIGHTS, arena, state};

typedef void pl_run_t(const pl_model_t *m);

const uint32_t pl_model_build = PL_MODEL_BUILD;
const uint32_t pl_model_arena_bytes = PL_MODEL_ARENA_SIZE;

#define ONE(index, function) +1u
const uint32_t pl_model_entries = 0u PL_MODEL_ENTRIES(ONE);

#define COUNT(index, pointer, bytes) +1u
const uint32_t pl_model_inputs = 0u PL_MODEL_INPUTS(COUNT);
const uint32_t pl_model_outputs = 0u PL_MODEL_OUTPUTS(COUNT);

#define LINE(text) text,
static const char *const lines[] = {PL_MODEL_LINES(LINE)};
const uint32_t pl_model_lines = sizeof(lines) / sizeof(lines[0]);

const char *pl_model_line(uint32_t index) { return lines[index]; }

#define PORT(number, pointer, size)                                                                                    \
    if (index == (number)) {                                                                                           \
        port.data = (uint8_t *)(uintptr_t)pointer(&model);                                                             \
        port.bytes = (size);                                                                                           \
    }

pl_port_t pl_model_input(uint32_t index)
{
    pl_port_t port = {NULL, 0u};
    (void)index; /* a model may have none */
    PL_MODEL_INPUTS(PORT)
    return port;
}

pl_port_t pl_model_output(uint32_t index)
{
    pl_port_t port = {NULL, 0u};
    (void)index; /* a model may have none */
    PL_MODEL_OUTPUTS(PORT)
    return port;
}

pl_port_t pl_model_state(void)
{
    const pl_port_t port = {state, PL_MODEL_STATE_SIZE};
    return port;
}

uint8_t *pl_model_arena(void) { return arena; }

void pl_model_reset(void) { PL_MODEL_RESET(&model); }

#define ENTRY(number, function)                                                                                        \
    if (index == (number)) {                                                                                           \
        run = (function);                                                                                              \
    }

static pl_run_t *entry_point(uint32_t index)
{
    pl_run_t *run = NULL;
    PL_MODEL_ENTRIES(ENTRY)
    return run;
}

#if defined(PL_BARE)
#define PAINT 0x5AFE57ACu

uint32_t pl_model_features(void) { return PL_HAS_STACK; }

extern uint32_t pl_stack_low[];
uint8_t *pl_call_run(const pl_model_t *m, uint32_t *low, uint32_t paint, pl_run_t *run);

uint32_t pl_model_run(uint32_t index)
{
    pl_begin_steps();
    const uint8_t *top = pl_call_run(&model, pl_stack_low, PAINT, entry_point(index));
    pl_end_steps();
    const volatile uint32_t *low = pl_stack_low;
    while (((uintptr_t)low < (uintptr_t)top) && (*low == PAINT)) {
        low++;
    }
    if (low == pl_stack_low) { /* nothing of the paint is left: the stack has run past its end */
        pl_fault("stack overflow", 0u, 0u, 0u, (uint32_t)(uintptr_t)low);
    }
    return (uint32_t)((uintptr_t)top - (uintptr_t)low);
}
#else
#if defined(PL_STACK)
#define STACK_FEATURE PL_HAS_STACK
#define STACK() pl_io_stack()
#else
#define STACK_FEATURE 0u
#define STACK() PL_NOT_MEASURED
#endif

uint32_t pl_model_features(void) { return STACK_FEATURE; }

uint32_t pl_model_run(uint32_t index)
{
    pl_begin_steps();
    entry_point(index)(&model);
    pl_end_steps();
    return STACK();
}
#endif
