/* The prompt of MicroPython's unix port, whose files call these instead of the C library's functions: micropython.mk. */
#if defined(__unix__)

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* A terminal that is gone is the end of the input: MicroPython would ask it again forever. */
ssize_t pt_read(int file, void *data, size_t size)
{
    const ssize_t got = read(file, data, size);
    return got < 0 && errno == EIO ? 0 : got;
}

/* Lines that were pasted or typed ahead are not thrown away when the terminal changes its mode. */
int pt_tcsetattr(int file, int when, const struct termios *mode)
{
    return tcsetattr(file, when == TCSAFLUSH ? TCSADRAIN : when, mode);
}

/* The folder of the history is the home folder, or the one that Pilotlight names. */
char *pt_getenv(const char *name)
{
    char *folder = strcmp(name, "HOME") == 0 ? getenv("PILOTLIGHT_HISTORY") : NULL;
    return folder ? folder : getenv(name);
}

#endif
