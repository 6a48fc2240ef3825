#include "pl_fault.h"

#include "pl_frame.h"
#include "pl_io.h"
#include "pl_protocol.h"

static void put(const char *text)
{
    uint32_t length = 0u;
    while (text[length] != '\0') {
        length++;
    }
    pl_frame_put(text, length);
}

static void hex(const char *name, uint32_t value)
{
    static const char digits[] = "0123456789abcdef";
    char text[11];
    text[0] = '0';
    text[1] = 'x';
    for (uint32_t i = 0u; i < 8u; i++) {
        const uint32_t digit = (value >> (28u - (4u * i))) & 15u;
        text[2u + i] = digits[digit];
    }
    text[10] = '\0';
    put(name);
    put(text);
}

void pl_fault(const char *what, uint32_t cause, uint32_t pc, uint32_t from, uint32_t address)
{
    pl_frame_begin(PL_LOG, 0u, 0u);
    put("fault: ");
    put(what);
    hex(" cause=", cause);
    hex(" pc=", pc);
    hex(" from=", from);
    hex(" address=", address);
    pl_frame_end();
    pl_io_exit(3);
}
