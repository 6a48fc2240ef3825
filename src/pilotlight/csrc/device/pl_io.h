#ifndef PL_IO_H
#define PL_IO_H

#include <stdint.h>

/* What carries the protocol. pl_io_read returns 0 when the other side is gone. */
void pl_io_open(void);
int pl_io_read(void *data, uint32_t bytes);
void pl_io_write(const void *data, uint32_t bytes);

/* A line for people, outside the protocol. */
void pl_io_text(const char *text);

/* Ends the program; the exit code reaches the computer where the carrier can do that. */
void pl_io_exit(int32_t code);

#endif
