#ifndef PL_MODEL_H
#define PL_MODEL_H

#include <stdint.h>

/* The model as the server sees it: model.c, for the model that pl_ports.h names. */
typedef struct {
    uint8_t *data;
    uint32_t bytes;
} pl_port_t;

/* Inputs and outputs of all entry points are numbered in the order of these. */
extern const uint32_t pl_model_build; /* the same for the same files */
extern const uint32_t pl_model_entries;
extern const uint32_t pl_model_inputs;
extern const uint32_t pl_model_outputs;
extern const uint32_t pl_model_lines;
extern const uint32_t pl_model_arena_bytes;

pl_port_t pl_model_input(uint32_t index);
pl_port_t pl_model_output(uint32_t index);
pl_port_t pl_model_state(void);
uint8_t *pl_model_arena(void);
const char *pl_model_line(uint32_t index); /* of the description */
uint32_t pl_model_features(void);
void pl_model_reset(void);

/* Runs an entry point once; returns the bytes of stack it touched, or PL_NOT_MEASURED. */
uint32_t pl_model_run(uint32_t index);

/* With PL_STEPS: how many steps there are. With PL_CYCLES: the cycles of each in the last run. With PL_WATCH_BYTES: keep
 * bytes of the arena as a step leaves them; they are there after a run that had this step. */
uint32_t pl_model_steps(void);
uint32_t pl_model_step_cycles(uint32_t index);
void pl_model_watch(uint32_t step, uint32_t offset, uint32_t bytes);
pl_port_t pl_model_watched(void);

#endif
