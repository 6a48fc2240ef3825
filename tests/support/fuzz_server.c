/* Feeds the device server with good, broken and made-up frames and checks every frame that it sends back.
 *
 *     fuzz_server FRAMES SEED
 *
 * Built with sanitizers, which watch its buffers and the model's. The model here is a stand-in: a run adds one to every
 * byte of its state and of its outputs. */
#include "pl_frame.h"
#include "pl_io.h"
#include "pl_model.h"
#include "pl_protocol.h"
#include "pl_server.h"
#include "pl_window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUTS 3u
#define OUTPUTS 2u
#define LARGEST 2000u

static uint8_t inputs[INPUTS][LARGEST], outputs[OUTPUTS][LARGEST], state[24], arena[64];
static const uint32_t input_bytes[INPUTS] = {1u, 40u, LARGEST}, output_bytes[OUTPUTS] = {7u, LARGEST};
static uint32_t runs;

const uint32_t pl_model_build = 0x12345678u, pl_model_entries = 2u, pl_model_inputs = INPUTS;
const uint32_t pl_model_outputs = OUTPUTS, pl_model_lines = 2u, pl_model_arena_bytes = sizeof arena;

static pl_port_t port(uint8_t *data, uint32_t bytes)
{
    const pl_port_t made = {data, bytes};
    return made;
}

pl_port_t pl_model_input(uint32_t index) { return port(inputs[index], input_bytes[index]); }
pl_port_t pl_model_output(uint32_t index) { return port(outputs[index], output_bytes[index]); }
pl_port_t pl_model_state(void) { return port(state, sizeof state); }
uint8_t *pl_model_arena(void) { return arena; }
const char *pl_model_line(uint32_t index) { return index == 0u ? "[\"model\", \"none\"]" : ""; }
uint32_t pl_model_features(void) { return 0u; }
void pl_model_reset(void) { memset(state, 0, sizeof state); }

uint32_t pl_model_run(uint32_t index)
{
    (void)index;
    runs++;
    for (uint32_t i = 0u; i < sizeof state; i++) {
        state[i]++;
    }
    for (uint32_t i = 0u; i < OUTPUTS; i++) {
        for (uint32_t k = 0u; k < output_bytes[i]; k++) {
            outputs[i][k]++;
        }
    }
    return PL_NOT_MEASURED;
}

static uint64_t seed;

static uint32_t any(uint32_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 20) % below;
}

static void fail(const char *what)
{
    fprintf(stderr, "the server %s\n", what);
    exit(1);
}

/* Only a debug build of the server asks for these. */
static uint32_t kept_from, kept_bytes;
uint32_t pl_io_cycles(void) { return runs; }
uint32_t pl_model_steps(void) { return 3u; }
uint32_t pl_model_step_cycles(uint32_t index) { return (uint32_t[3]){1u, 2u, 3u}[index]; }

void pl_model_watch(uint32_t step, uint32_t offset, uint32_t bytes)
{
    (void)step;
    kept_from = offset;
    kept_bytes = bytes;
}

pl_port_t pl_model_watched(void) { return port(arena + kept_from, kept_bytes); }

static uint8_t window[40];
pl_port_t pl_window(void) { return port(window, sizeof window); }
uint32_t pl_window_call(uint32_t offset, uint32_t argument) { return window[offset] + argument; }

/* ---- frames, written a second time ---- */

typedef struct {
    uint8_t data[16384];
    uint32_t bytes;
} text_t;

static void add(text_t *t, uint32_t value, uint32_t bytes)
{
    for (uint32_t i = 0u; i < bytes; i++) {
        t->data[t->bytes++] = (uint8_t)(value >> (8u * i));
    }
}

static uint32_t check_of(const uint8_t *p, uint32_t bytes)
{
    uint32_t value = 0xFFFFFFFFu;
    for (uint32_t i = 0u; i < bytes; i++) {
        value ^= p[i];
        for (int bit = 0; bit < 8; bit++) {
            value = (value >> 1) ^ (0xEDB88320u & (0u - (value & 1u)));
        }
    }
    return ~value;
}

static void header(text_t *t, uint32_t kind, uint32_t sequence, uint32_t session)
{
    t->bytes = 0u;
    add(t, PL_PROTOCOL_VERSION, 1u);
    add(t, kind, 1u);
    add(t, sequence, 2u);
    add(t, session, 4u);
}

static void stuffed(text_t *line, const text_t *body)
{
    uint32_t code = line->bytes + 1u;
    line->data[line->bytes++] = 0u;
    line->bytes++;
    for (uint32_t i = 0u; i < body->bytes; i++) {
        if (body->data[i] != 0u) {
            line->data[line->bytes++] = body->data[i];
        }
        if (body->data[i] == 0u || line->bytes - code == 255u) {
            line->data[code] = (uint8_t)(line->bytes - code);
            code = line->bytes++;
        }
    }
    line->data[code] = (uint8_t)(line->bytes - code);
    line->data[line->bytes++] = 0u;
}

/* ---- what goes to the server ---- */

static text_t to_server, from_server;
static uint32_t given, frames_left;
static uint32_t now_session, now_sequence;
static text_t last; /* the last good question */
static uint32_t expected_runs, checked, answered;
static int checking; /* the frame on the line is good: its answer is looked at */
static uint32_t read_at, read_bytes, read_output;

static void random_bytes(text_t *t, uint32_t bytes)
{
    for (uint32_t i = 0u; i < bytes; i++) {
        add(t, any(4u) == 0u ? 0u : any(256u), 1u);
    }
}

/* A command with arguments that may be anything. */
static void wild_command(text_t *t)
{
    static const uint8_t kinds[] = "ILPWKFZOSVDMCUX";
    static const uint32_t edges[] = {0u, 1u, 40u, LARGEST, 0xFFFFFFFFu, 0x80000000u, 0x7FFFFFFFu};
    const uint32_t kind = kinds[any(sizeof kinds - 1u)];
    const uint32_t length = any(2u) ? any(60u) : edges[any(7u)];
    add(t, kind, 1u);
    if (strchr("ILPWOSV", (int)kind) != NULL) {
        add(t, any(4u), 2u);
        add(t, any(2u) ? any(60u) : edges[any(7u)], 4u);
        add(t, length, 4u);
        if (kind == 'I' || kind == 'L' || kind == 'P') {
            random_bytes(t, length < 60u ? length : any(60u));
        }
    } else {
        random_bytes(t, any(6u));
    }
}

/* A run as often as some random number says takes forever. */
static void no_long_runs(text_t *t, uint32_t from)
{
    for (uint32_t i = from; i < t->bytes; i++) {
        if (t->data[i] == PL_RUN) {
            t->data[i] = 'r';
        }
    }
}

/* Input, run, part of an output: the answer is checked. */
static void good_question(text_t *t)
{
    const uint32_t input = any(INPUTS);
    const uint32_t bytes = any(input_bytes[input] < 200u ? input_bytes[input] + 1u : 200u);
    header(t, PL_ASK, now_sequence + 1u, now_session);
    add(t, PL_INPUT, 1u);
    add(t, input, 2u);
    add(t, any(input_bytes[input] - bytes + 1u), 4u);
    add(t, bytes, 4u);
    random_bytes(t, bytes);
    const uint32_t times = any(3u);
    add(t, PL_RUN, 1u);
    add(t, any(2u), 2u);
    add(t, times, 4u);
    read_output = any(OUTPUTS);
    read_bytes = any(output_bytes[read_output] + 1u);
    read_at = any(output_bytes[read_output] - read_bytes + 1u);
    add(t, PL_OUTPUT, 1u);
    add(t, read_output, 2u);
    add(t, read_at, 4u);
    add(t, read_bytes, 4u);
    now_sequence = (now_sequence + 1u) & 0xFFFFu;
    last = *t;
    checking = 1;
    expected_runs = runs + times;
}

static void fault(text_t *line)
{
    const uint32_t at = any(line->bytes);
    switch (any(5u)) {
        case 0u: /* a bit flips */
            line->data[at] ^= (uint8_t)(1u << any(8u));
            break;
        case 1u: /* cut short: the next frame follows at once */
            line->bytes = at;
            break;
        case 2u: /* a byte is lost */
            memmove(line->data + at, line->data + at + 1u, line->bytes - at - 1u);
            line->bytes--;
            break;
        case 3u: /* a zero comes in */
            line->data[at] = 0u;
            break;
        default: /* noise before it */
            random_bytes(line, any(40u));
            break;
    }
}

/* The next frames, up to one whose answer is checked. */
static void next_line(void)
{
    static text_t body;
    text_t *line = &to_server;
    const uint32_t choice = any(10u);
    line->bytes = 0u;
    given = 0u;
    checking = 0;
    if (now_session == 0u || choice == 0u) {
        now_session = any(0xFFFFFFFFu) | 1u;
        now_sequence = any(0x10000u);
        header(&body, PL_HELLO, now_sequence, now_session);
        last.bytes = 0u;
    } else if (choice <= 3u) {
        good_question(&body);
    } else if (choice == 4u && last.bytes != 0u) { /* a repetition */
        body = last;
        checking = 1;
        expected_runs = runs;
    } else if (choice <= 6u) { /* commands that may be wrong, in a frame that is not */
        header(&body, PL_ASK, now_sequence + 1u, now_session);
        const uint32_t from = body.bytes;
        for (uint32_t n = any(8u); n != 0u; n--) {
            wild_command(&body);
        }
        no_long_runs(&body, from);
        now_sequence = (now_sequence + 1u) & 0xFFFFu;
        last.bytes = 0u;
    } else if (choice == 7u) { /* any kind, number and session */
        header(&body, any(8u), any(0x10000u), any(3u) ? now_session ^ 1u : 0u);
        random_bytes(&body, any(40u));
        if (body.data[1] == PL_HELLO) {
            body.data[1] = PL_REFUSE;
        }
        body.data[0] = any(8u) == 0u ? (uint8_t)any(256u) : body.data[0];
    } else if (choice == 8u) { /* noise, sometimes longer than the buffer */
        random_bytes(line, any(8u) == 0u ? 5000u : any(100u));
        add(line, 0u, 1u);
        return;
    } else {
        good_question(&body);
        checking = 0; /* it may be carried out or not: a new session follows */
        add(&body, check_of(body.data, body.bytes), 4u);
        stuffed(line, &body);
        fault(line);
        now_session = 0u;
        return;
    }
    add(&body, check_of(body.data, body.bytes), 4u);
    stuffed(line, &body);
}

/* In pieces of any size. */
uint32_t pl_io_read(void *data, uint32_t bytes)
{
    if (given == to_server.bytes) {
        if (checking && !answered) {
            fail("did not answer a good question");
        }
        if (frames_left == 0u) {
            return 0u;
        }
        do {
            next_line();
        } while (to_server.bytes == 0u);
        frames_left--;
        answered = 0u;
    }
    const uint32_t left = to_server.bytes - given;
    const uint32_t most = left < bytes ? left : bytes;
    const uint32_t now = any(4u) == 0u ? 1u + any(most) : most;
    memcpy(data, to_server.data + given, now);
    given += now;
    return now;
}

/* ---- what comes back ---- */

static void look_at_answer(const uint8_t *p, uint32_t bytes)
{
    if (runs != expected_runs) {
        fail("ran the model as often as it was not asked to");
    }
    if (bytes != read_bytes + 3u || memcmp(p, outputs[read_output] + read_at, read_bytes) != 0) {
        fail("sent another output");
    }
    if (p[bytes - 1u] != PL_OK || pl_get_u16(p + read_bytes) != 3u) {
        fail("refused a good question");
    }
    checked++;
}

static void look_at_frame(uint8_t *p, uint32_t bytes)
{
    static uint8_t body[16384];
    uint32_t out = 0u;
    for (uint32_t in = 0u; in < bytes;) {
        const uint32_t code = p[in++];
        for (uint32_t k = 1u; k < code; k++) {
            if (in == bytes) {
                fail("sent a frame whose last block is too long");
            }
            body[out++] = p[in++];
        }
        if (code != 255u && in < bytes) {
            body[out++] = 0u;
        }
    }
    if (out < 12u || check_of(body, out - 4u) != pl_get_u32(body + out - 4u)) {
        fail("sent a frame with a wrong CRC");
    }
    if (checking && body[1] == PL_ANSWER && pl_get_u16(body + 2) == now_sequence) {
        look_at_answer(body + 8, out - 12u);
        answered = 1u;
    }
}

void pl_io_write(const void *data, uint32_t bytes)
{
    const uint8_t *p = (const uint8_t *)data;
    for (uint32_t i = 0u; i < bytes; i++) {
        if (p[i] != 0u) {
            from_server.data[from_server.bytes++] = p[i];
        } else if (from_server.bytes != 0u) {
            look_at_frame(from_server.data, from_server.bytes);
            from_server.bytes = 0u;
        }
    }
}

void pl_io_open(void) {}
void pl_io_exit(int32_t code) { exit(code); }

int main(int count, char **words)
{
    frames_left = count > 1 ? (uint32_t)strtoul(words[1], NULL, 10) : 20000u;
    seed = 0x9E3779B97F4A7C15u ^ (count > 2 ? strtoul(words[2], NULL, 10) : 0u);
    const uint32_t all = frames_left;
    while (frames_left != 0u) { /* it may be told to leave */
        now_session = 0u;
        to_server.bytes = 0u;
        given = 0u;
        checking = 0;
        pl_serve();
    }
    printf("%u frames, %u answers checked, %u runs\n", all, checked, runs);
    return checked == 0u;
}
