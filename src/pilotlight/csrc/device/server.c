/* Answers the questions of pl_protocol.h about one model until the computer quits or goes away. */
#include "pl_io.h"
#include "pl_model.h"
#include "pl_protocol.h"

void pl_serve(void);

static uint32_t get_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | ((uint32_t)p[1] << 8) | ((uint32_t)p[2] << 16) | ((uint32_t)p[3] << 24);
}

static void put_u32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}

static void answer(uint8_t kind, uint16_t index, uint8_t status, const void *payload, uint32_t bytes)
{
    uint8_t header[PL_HEADER_BYTES];
    header[0] = kind;
    header[1] = (uint8_t)index;
    header[2] = status;
    header[3] = (uint8_t)(index >> 8);
    put_u32(header + 4, bytes);
    pl_io_write(header, PL_HEADER_BYTES);
    if (bytes != 0u) {
        pl_io_write(payload, bytes);
    }
}

static void hello(void)
{
    uint8_t facts[20];
    put_u32(facts, PL_PROTOCOL_VERSION);
    put_u32(facts + 4, pl_model_arena_bytes);
    put_u32(facts + 8, pl_model_state_bytes);
    put_u32(facts + 12, pl_model_inputs);
    put_u32(facts + 16, pl_model_outputs);
    answer(PL_HELLO, 0u, PL_OK, facts, sizeof facts);
}

/* Reads and forgets a payload that cannot be used, so that the next header is found. */
static int skip(uint32_t bytes)
{
    uint8_t byte;
    for (; bytes != 0u; bytes--) {
        if (!pl_io_read(&byte, 1u)) {
            return 0;
        }
    }
    return 1;
}

static int take_input(uint16_t index, uint32_t bytes)
{
    if (index >= pl_model_inputs) {
        answer(PL_INPUT, index, PL_NO_SUCH_INDEX, 0, 0u);
        return skip(bytes);
    }
    const pl_port_t port = pl_model_input(index);
    if (bytes != port.bytes) {
        answer(PL_INPUT, index, PL_WRONG_LENGTH, 0, 0u);
        return skip(bytes);
    }
    if (!pl_io_read(port.data, bytes)) {
        return 0;
    }
    answer(PL_INPUT, index, PL_OK, 0, 0u);
    return 1;
}

static void give_output(uint16_t index)
{
    if (index >= pl_model_outputs) {
        answer(PL_OUTPUT, index, PL_NO_SUCH_INDEX, 0, 0u);
        return;
    }
    const pl_port_t port = pl_model_output(index);
    answer(PL_OUTPUT, index, PL_OK, port.data, port.bytes);
}

static void fill(uint8_t value)
{
    volatile uint8_t *p = pl_model_arena();
    for (uint32_t i = 0u; i < pl_model_arena_bytes; i++) {
        p[i] = value;
    }
}

static void run(uint16_t index)
{
    uint8_t stack[4];
    if (index >= pl_model_entries) {
        answer(PL_RUN, index, PL_NO_SUCH_INDEX, 0, 0u);
        return;
    }
    put_u32(stack, pl_model_run(index));
    answer(PL_RUN, index, PL_OK, stack, sizeof stack);
}

void pl_serve(void)
{
    uint8_t header[PL_HEADER_BYTES];
    pl_io_open();
    pl_model_reset();
    hello();
    while (pl_io_read(header, PL_HEADER_BYTES)) {
        const uint8_t kind = header[0];
        const uint16_t index = (uint16_t)(header[1] | (header[3] << 8));
        const uint32_t bytes = get_u32(header + 4);
        if (kind == PL_INPUT) {
            if (!take_input(index, bytes)) {
                return;
            }
            continue;
        }
        if (!skip(bytes)) {
            return;
        }
        if (kind == PL_OUTPUT) {
            give_output(index);
        } else if (kind == PL_FILL) {
            fill(header[1]);
            answer(kind, index, PL_OK, 0, 0u);
        } else if (kind == PL_RESET) {
            pl_model_reset();
            answer(kind, index, PL_OK, 0, 0u);
        } else if (kind == PL_RUN) {
            run(index);
        } else if (kind == PL_QUIT) {
            answer(kind, index, PL_OK, 0, 0u);
            return;
        } else {
            answer(kind, index, PL_UNKNOWN_KIND, 0, 0u);
        }
    }
}
