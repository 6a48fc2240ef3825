#ifndef PL_IO_H
#define PL_IO_H

#include <stdint.h>

/* What carries the protocol: the functions to write for another kind of line or board. */

/* Makes the line ready; called once, first. */
void pl_io_open(void);

/* Waits for at least one byte and takes what is there, up to `bytes`; returns how many, or 0 when the other side is
 * gone for good (a serial line never says so). */
uint32_t pl_io_read(void *data, uint32_t bytes);

/* Sends all bytes. */
void pl_io_write(const void *data, uint32_t bytes);

/* Ends the program after a fault; the exit code reaches the computer where the carrier can do that. */
void pl_io_exit(int32_t code);

/* With PL_CYCLES: a counter of the core's cycles that may wrap around. */
uint32_t pl_io_cycles(void);

/* With PL_STACK: the most bytes of stack that were ever in use, those of the server included. */
uint32_t pl_io_stack(void);

#endif
