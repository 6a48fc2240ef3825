#ifndef PL_WINDOW_H
#define PL_WINDOW_H

#include "pl_model.h"

/* The RAM that code can be loaded into, with -DPL_WINDOW_BYTES=n. */
pl_port_t pl_window(void);

/* Calls what begins at an offset, as `uint32_t f(uint32_t)`. */
uint32_t pl_window_call(uint32_t offset, uint32_t argument);

#endif
