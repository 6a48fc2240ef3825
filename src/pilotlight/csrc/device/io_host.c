/* The protocol over the standard input and output of a process on this computer. */
#include "pl_io.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif

void pl_serve(void);

/* Windows would change line ends. */
void pl_io_open(void)
{
#ifdef _WIN32
    (void)_setmode(_fileno(stdin), _O_BINARY);
    (void)_setmode(_fileno(stdout), _O_BINARY);
#endif
}

int pl_io_read(void *data, uint32_t bytes) { return fread(data, 1u, bytes, stdin) == bytes; }

void pl_io_write(const void *data, uint32_t bytes)
{
    if (fwrite(data, 1u, bytes, stdout) != bytes || fflush(stdout) != 0) {
        exit(1);
    }
}

void pl_io_text(const char *text) { fputs(text, stderr); }

void pl_io_exit(int32_t code) { exit(code); }

int main(void)
{
    pl_serve();
    return 0;
}
