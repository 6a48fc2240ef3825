#ifndef PL_STEP_H
#define PL_STEP_H

#include <stdint.h>

/* Cycles of each step: compile the model's NAME.c with `-include pl_step.h`, the server and model.c with -DPL_CYCLES,
 * and write pl_io_cycles (pl_io.h). */
void pl_step(uint32_t number);

#define PL_STEP(n) pl_step(n##u)

#endif
