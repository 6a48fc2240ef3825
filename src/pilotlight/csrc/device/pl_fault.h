#ifndef PL_FAULT_H
#define PL_FAULT_H

#include <stdint.h>

/* Logs one line that the computer can read, "fault: WHAT cause=... pc=... from=... address=...", and stops. */
void pl_fault(const char *what, uint32_t cause, uint32_t pc, uint32_t from, uint32_t address);

#endif
