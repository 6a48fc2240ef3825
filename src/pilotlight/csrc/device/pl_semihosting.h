#ifndef PL_SEMIHOSTING_H
#define PL_SEMIHOSTING_H

#include <stdint.h>

/* In the start-up file of each core: asks the emulator or debugger for a service. */
uint32_t pl_semihost(uint32_t operation, const void *block);

#endif
