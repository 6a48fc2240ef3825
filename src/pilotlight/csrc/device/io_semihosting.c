/* The protocol over two files that the emulator (or a debugger) opens for the board: Arm's semihosting,
 * which RISC-V adopted. The files are the named pipes "to_board" and "from_board". */
#include "pl_io.h"
#include "pl_semihosting.h"

#define SYS_OPEN 0x01u
#define SYS_WRITE0 0x04u
#define SYS_WRITE 0x05u
#define SYS_READ 0x06u
#define SYS_EXIT_EXTENDED 0x20u

#define MODE_READ_BINARY 1u
#define MODE_WRITE_BINARY 5u
#define APPLICATION_EXIT 0x20026u

static uint32_t to_board;
static uint32_t from_board;

static void say(const char *text) { (void)pl_semihost(SYS_WRITE0, text); }

static uint32_t open_file(const char *name, uint32_t length, uint32_t mode)
{
    const uintptr_t block[3] = {(uintptr_t)name, mode, length};
    const uint32_t handle = pl_semihost(SYS_OPEN, block);
    if (handle == 0xFFFFFFFFu) {
        say("cannot open the pipe ");
        say(name);
        say("\n");
        pl_io_exit(2);
    }
    return handle;
}

void pl_io_open(void)
{
    to_board = open_file("to_board", 8u, MODE_READ_BINARY);
    from_board = open_file("from_board", 10u, MODE_WRITE_BINARY);
}

/* The answer of SYS_READ and SYS_WRITE is what is still missing. */
uint32_t pl_io_read(void *data, uint32_t bytes)
{
    const uintptr_t block[3] = {to_board, (uintptr_t)data, bytes};
    const uint32_t left = pl_semihost(SYS_READ, block);
    return (left < bytes) ? (bytes - left) : 0u;
}

void pl_io_write(const void *data, uint32_t bytes)
{
    uint32_t missing = bytes;
    const uint8_t *from = (const uint8_t *)data;
    while (missing != 0u) {
        const uintptr_t block[3] = {from_board, (uintptr_t)from, missing};
        const uint32_t left = pl_semihost(SYS_WRITE, block);
        if (left >= missing) {
            pl_io_exit(1);
        }
        from = &from[missing - left];
        missing = left;
    }
}

void pl_io_exit(int32_t code)
{
    const uintptr_t block[2] = {APPLICATION_EXIT, (uintptr_t)code};
    for (;;) {
        (void)pl_semihost(SYS_EXIT_EXTENDED, block);
    }
}
