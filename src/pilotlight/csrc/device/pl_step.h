#ifndef PL_STEP_H
#define PL_STEP_H

#include <stdint.h>

/* A look at each step of a run, for debug builds: compile NAME.c with `-include pl_step.h`, all files of the server with
 * -DPL_STEPS, and steps.c too. With -DPL_CYCLES the cycles of each step are counted; with -DPL_WATCH_BYTES=n up to n bytes
 * of the arena can be kept as one step leaves them. */
void pl_step(uint32_t number);
void pl_begin_steps(void);
void pl_end_steps(void);

#define PL_STEP(n) pl_step(n##u)

#endif
