#ifndef PL_MODEL_H
#define PL_MODEL_H

#include <stdint.h>

/* The model as the server sees it. The build writes the file that defines these, from metadata.json. */
typedef struct {
    uint8_t *data;
    uint32_t bytes;
} pl_port_t;

/* Inputs and outputs of all entry points are numbered in the order of these. */
extern const uint32_t pl_model_entries;
extern const uint32_t pl_model_inputs;
extern const uint32_t pl_model_outputs;
extern const uint32_t pl_model_arena_bytes;
extern const uint32_t pl_model_state_bytes;

pl_port_t pl_model_input(uint32_t index);
pl_port_t pl_model_output(uint32_t index);
uint8_t *pl_model_arena(void);
void pl_model_reset(void);

/* Runs an entry point once; returns the bytes of stack it touched, or PL_STACK_UNKNOWN. */
uint32_t pl_model_run(uint32_t index);

#endif
