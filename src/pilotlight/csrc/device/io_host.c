/* The protocol over the standard input and output of a process on this computer. */
#include "pl_io.h"

#include "pl_server.h"

#include <stdlib.h>

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#define read _read
#define write _write
typedef int count_t;
#else
#include <unistd.h>
typedef ssize_t count_t;
#endif

#define INPUT 0 /* file descriptors */
#define OUTPUT 1

/* Windows would change line ends. */
void pl_io_open(void)
{
#ifdef _WIN32
    (void)_setmode(_fileno(stdin), _O_BINARY);
    (void)_setmode(_fileno(stdout), _O_BINARY);
#endif
}

uint32_t pl_io_read(void *data, uint32_t bytes)
{
    const count_t got = read(INPUT, data, bytes);
    return (got > 0) ? (uint32_t)got : 0u;
}

void pl_io_write(const void *data, uint32_t bytes)
{
    uint32_t left = bytes;
    const char *from = (const char *)data;
    while (left != 0u) {
        const count_t put = write(OUTPUT, from, left);
        if (put <= 0) {
            exit(1);
        }
        from = &from[put];
        left -= (uint32_t)put;
    }
}

void pl_io_exit(int32_t code) { exit(code); }

int main(void)
{
    pl_serve();
    return 0;
}
