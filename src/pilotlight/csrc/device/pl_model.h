#ifndef PL_MODEL_H
#define PL_MODEL_H

#include <stdint.h>

/* The model as the server sees it. The build writes the file that defines these, from metadata.json. */
typedef struct {
    uint8_t *data;
    uint32_t bytes;
} pl_port_t;

extern const uint32_t pl_model_inputs;
extern const uint32_t pl_model_outputs;
extern const uint32_t pl_model_arena_bytes;
extern const uint32_t pl_model_state_bytes;

pl_port_t pl_model_input(uint32_t index);
pl_port_t pl_model_output(uint32_t index);
uint8_t *pl_model_arena(void);
void pl_model_reset(void);

/* Runs the model once; returns the bytes of stack it touched, or PL_STACK_UNKNOWN. */
uint32_t pl_model_run(void);

#endif
