#include "pl_fault.h"

#include "pl_io.h"

static void hex(const char *name, uint32_t value)
{
    char text[11];
    text[0] = '0';
    text[1] = 'x';
    for (uint32_t i = 0u; i < 8u; i++) {
        const uint32_t digit = (value >> (28u - 4u * i)) & 15u;
        text[2u + i] = (char)(digit < 10u ? '0' + digit : 'a' + (digit - 10u));
    }
    text[10] = '\0';
    pl_io_text(name);
    pl_io_text(text);
}

void pl_fault(const char *what, uint32_t cause, uint32_t pc, uint32_t from, uint32_t address)
{
    pl_io_text("fault: ");
    pl_io_text(what);
    hex(" cause=", cause);
    hex(" pc=", pc);
    hex(" from=", from);
    hex(" address=", address);
    pl_io_text("\n");
    pl_io_exit(3);
}
