/* What a debug build keeps of each step: its cycles, and a piece of the arena after one of them. */
#include "pl_step.h"

#include "pl_frame.h"
#include "pl_io.h"
#include "pl_model.h"
#include "pl_ports.h"

static uint32_t step; /* the one that runs; PL_MODEL_STEPS: none yet */

uint32_t pl_model_steps(void) { return PL_MODEL_STEPS; }

#if defined(PL_CYCLES)
static uint32_t cycles[PL_MODEL_STEPS + 1u];
static uint32_t since;

uint32_t pl_model_step_cycles(uint32_t index) { return cycles[index]; }

static void begin_cycles(void)
{
    volatile uint32_t *p = cycles;
    for (uint32_t i = 0u; i <= PL_MODEL_STEPS; i++) {
        p[i] = 0u;
    }
    since = pl_io_cycles();
}

static void end_step_cycles(void) { cycles[step] += pl_io_cycles() - since; }

static void begin_step_cycles(void) { since = pl_io_cycles(); }
#else
static void begin_cycles(void) {}
static void end_step_cycles(void) {}
static void begin_step_cycles(void) {}
#endif

#if defined(PL_WATCH_BYTES)
static uint8_t kept[PL_WATCH_BYTES];
static uint32_t watched_step;
static uint32_t watched_offset;
static uint32_t watched_bytes;
static uint32_t kept_bytes;

void pl_model_watch(uint32_t number, uint32_t offset, uint32_t bytes)
{
    watched_step = number;
    watched_offset = offset;
    watched_bytes = bytes;
    kept_bytes = 0u;
}

pl_port_t pl_model_watched(void)
{
    const pl_port_t port = {kept, kept_bytes};
    return port;
}

static void forget(void) { kept_bytes = 0u; }

static void keep(void)
{
    if (step == watched_step) {
        pl_copy(kept, &pl_model_arena()[watched_offset], watched_bytes);
        kept_bytes = watched_bytes;
    }
}
#else
static void forget(void) {}
static void keep(void) {}
#endif

void pl_begin_steps(void)
{
    step = PL_MODEL_STEPS;
    forget();
    begin_cycles();
}

void pl_step(uint32_t number)
{
    end_step_cycles();
    keep();
    step = number;
    begin_step_cycles();
}

void pl_end_steps(void) { pl_step(PL_MODEL_STEPS); }
