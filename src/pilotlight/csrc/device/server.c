/* Answers the questions of pl_protocol.h about one model. */
#include "pl_server.h"

#include <stdbool.h>
#include <stddef.h>

#include "pl_frame.h"
#include "pl_io.h"
#include "pl_model.h"
#include "pl_protocol.h"

#if defined(PL_CYCLES)
#define CYCLES() pl_io_cycles()
#define CYCLE_FEATURE PL_HAS_CYCLES
#else
#define CYCLES() 0u
#define CYCLE_FEATURE 0u
#endif

#if defined(PL_CYCLES) && defined(PL_STEPS)
#define STEP_FEATURE PL_HAS_STEPS
#else
#define STEP_FEATURE 0u
#endif

#if defined(PL_WATCH_BYTES)
#define WATCH_BYTES PL_WATCH_BYTES
#else
#define WATCH_BYTES 0u
#endif

#if defined(PL_WINDOW_BYTES)
#include "pl_window.h"
#define WINDOW_BYTES PL_WINDOW_BYTES
static uint32_t last_result;
#else
#define WINDOW_BYTES 0u
#endif

/* The session and its last question, in case that is repeated. */
static uint32_t session; /* 0: none */
static uint16_t sequence;
static uint16_t done;  /* commands carried out */
static uint8_t status; /* of the answer */
static uint8_t asked;  /* a question has come after HELLO */

static uint8_t leaving;
static uint32_t last_stack;
static uint32_t deepest_stack;
static uint32_t last_cycles;

/* One question while its commands are carried out. */
typedef struct {
    const uint8_t *at; /* of the next argument */
    uint32_t left;     /* bytes from there on */
    uint8_t repeated;
    uint8_t reading; /* the answer is on its way */
} pl_question_t;

static const uint8_t *take(pl_question_t *q, uint32_t bytes)
{
    const uint8_t *p = q->at;
    if (bytes > q->left) {
        return 0;
    }
    q->at = &q->at[bytes];
    q->left -= bytes;
    return p;
}

static void begin_answer(pl_question_t *q)
{
    if (q->reading == 0u) {
        q->reading = 1u;
        pl_frame_begin(PL_ANSWER, sequence, session);
    }
}

static void answer_u32(uint32_t value)
{
    uint8_t bytes[4];
    pl_put_u32(bytes, value);
    pl_frame_put(bytes, 4u);
}

/* What INPUT, LOAD, CODE, OUTPUT, SAVE and VIEW move a part of. */
static pl_port_t port_of(uint8_t command, uint32_t index)
{
    if (command == PL_INPUT) {
        return pl_model_input(index);
    }
    if (command == PL_OUTPUT) {
        return pl_model_output(index);
    }
#if defined(PL_WATCH_BYTES)
    if (command == PL_VIEW) {
        return pl_model_watched();
    }
#endif
#if defined(PL_WINDOW_BYTES)
    if (command == PL_CODE) {
        return pl_window();
    }
#endif
    return pl_model_state();
}

static uint8_t transfer(pl_question_t *q, uint8_t command)
{
    const uint8_t *args = take(q, 10u);
    if (args == NULL) {
        return PL_CUT_SHORT;
    }
    const uint32_t index = pl_get_u16(args);
    const uint32_t offset = pl_get_u32(args + 2);
    const uint32_t length = pl_get_u32(args + 6);
    const bool writes = (command == PL_INPUT) || (command == PL_LOAD) || (command == PL_CODE);
    const uint8_t *data = writes ? take(q, length) : NULL;
    const uint32_t count = (command == PL_INPUT) ? pl_model_inputs : (command == PL_OUTPUT) ? pl_model_outputs : 1u;
    if (writes && (data == NULL)) {
        return PL_CUT_SHORT;
    }
    if (index >= count) {
        return PL_NO_SUCH_INDEX;
    }
    const pl_port_t port = port_of(command, index);
    if ((offset > port.bytes) || (length > (port.bytes - offset))) {
        return PL_OUTSIDE;
    }
    if (!writes) {
        begin_answer(q);
        if (length != 0u) {
            pl_frame_put(port.data + offset, length);
        }
    } else if ((q->repeated == 0u) && (length != 0u)) {
        pl_copy(port.data + offset, data, length);
    }
    return PL_OK;
}

static uint8_t run(pl_question_t *q)
{
    const uint8_t *args = take(q, 6u);
    if (args == NULL) {
        return PL_CUT_SHORT;
    }
    const uint32_t entry = pl_get_u16(args);
    if (entry >= pl_model_entries) {
        return PL_NO_SUCH_INDEX;
    }
    for (uint32_t times = (q->repeated != 0u) ? 0u : pl_get_u32(args + 2); times != 0u; times--) {
        const uint32_t before = CYCLES();
        last_stack = pl_model_run(entry);
        last_cycles = CYCLES() - before;
        if (last_stack > deepest_stack) {
            deepest_stack = last_stack;
        }
    }
    return PL_OK;
}

static uint8_t fill_arena(pl_question_t *q)
{
    const uint8_t *args = take(q, 1u);
    volatile uint8_t *p = pl_model_arena();
    if (args == NULL) {
        return PL_CUT_SHORT;
    }
    for (uint32_t i = 0u; (q->repeated == 0u) && (i < pl_model_arena_bytes); i++) {
        p[i] = args[0];
    }
    return PL_OK;
}

static uint8_t describe(pl_question_t *q)
{
    const uint8_t *args = take(q, 2u);
    uint32_t length = 0u;
    if (args == NULL) {
        return PL_CUT_SHORT;
    }
    const uint32_t line = pl_get_u16(args);
    if (line >= pl_model_lines) {
        return PL_NO_SUCH_INDEX;
    }
    const char *text = pl_model_line(line);
    while (text[length] != '\0') {
        length++;
    }
    const uint8_t size[2] = {(uint8_t)length, (uint8_t)(length >> 8)};
    begin_answer(q);
    pl_frame_put(size, 2u);
    pl_frame_put(text, length);
    return PL_OK;
}

static uint8_t marks(pl_question_t *q)
{
    begin_answer(q);
    answer_u32(last_stack);
    answer_u32(deepest_stack);
    answer_u32(last_cycles);
    return PL_OK;
}

#if defined(PL_WATCH_BYTES)
static uint8_t watch(pl_question_t *q)
{
    const uint8_t *args = take(q, 10u);
    if (args == NULL) {
        return PL_CUT_SHORT;
    }
    const uint32_t step = pl_get_u16(args);
    const uint32_t offset = pl_get_u32(args + 2);
    const uint32_t length = pl_get_u32(args + 6);
    if (step >= pl_model_steps()) {
        return PL_NO_SUCH_INDEX;
    }
    if ((length > WATCH_BYTES) || (offset > pl_model_arena_bytes) || (length > (pl_model_arena_bytes - offset))) {
        return PL_OUTSIDE;
    }
    if (q->repeated == 0u) {
        pl_model_watch(step, offset, length);
    }
    return PL_OK;
}
#endif

#if defined(PL_WINDOW_BYTES)
static uint8_t call(pl_question_t *q)
{
    const uint8_t *args = take(q, 8u);
    if (args == NULL) {
        return PL_CUT_SHORT;
    }
    const uint32_t offset = pl_get_u32(args);
    if ((offset >= WINDOW_BYTES) || ((offset & 3u) != 0u)) {
        return PL_OUTSIDE;
    }
    if (q->repeated == 0u) {
        const uint32_t before = CYCLES();
        last_result = pl_window_call(offset, pl_get_u32(args + 4));
        last_cycles = CYCLES() - before;
    }
    return PL_OK;
}

static uint8_t result(pl_question_t *q)
{
    begin_answer(q);
    answer_u32(last_result);
    answer_u32(last_cycles);
    return PL_OK;
}
#endif

#if defined(PL_CYCLES) && defined(PL_STEPS)
static uint8_t steps(pl_question_t *q)
{
    const uint8_t *args = take(q, 4u);
    if (args == NULL) {
        return PL_CUT_SHORT;
    }
    const uint32_t first = pl_get_u16(args);
    const uint32_t end = first + pl_get_u16(args + 2);
    if (end > pl_model_steps()) {
        return PL_NO_SUCH_INDEX;
    }
    begin_answer(q);
    for (uint32_t i = first; i < end; i++) {
        answer_u32(pl_model_step_cycles(i));
    }
    return PL_OK;
}
#endif

static uint8_t change(pl_question_t *q, uint8_t command)
{
    if (q->reading != 0u) {
        return PL_WRONG_ORDER;
    }
    if ((command == PL_INPUT) || (command == PL_LOAD) || (command == PL_CODE)) {
        return transfer(q, command);
    }
    if (command == PL_RUN) {
        return run(q);
    }
    if (command == PL_FILL) {
        return fill_arena(q);
    }
#if defined(PL_WATCH_BYTES)
    if (command == PL_WATCH) {
        return watch(q);
    }
#endif
#if defined(PL_WINDOW_BYTES)
    if (command == PL_CALL) {
        return call(q);
    }
#endif
    if (command == PL_LEAVE) {
        leaving = 1u;
    } else if (q->repeated == 0u) {
        pl_model_reset();
    } else {
        /* a repeated START */
    }
    return PL_OK;
}

static uint8_t carry_out(pl_question_t *q, uint8_t command)
{
    switch (command) {
        case PL_INPUT:
        case PL_LOAD:
        case PL_FILL:
        case PL_START:
        case PL_RUN:
        case PL_LEAVE:
#if defined(PL_WATCH_BYTES)
        case PL_WATCH:
#endif
#if defined(PL_WINDOW_BYTES)
        case PL_CODE:
        case PL_CALL:
#endif
            return change(q, command);
        case PL_OUTPUT:
        case PL_SAVE:
#if defined(PL_WATCH_BYTES)
        case PL_VIEW:
#endif
            return transfer(q, command);
        case PL_DESCRIBE:
            return describe(q);
        case PL_MARKS:
            return marks(q);
#if defined(PL_CYCLES) && defined(PL_STEPS)
        case PL_TIMES:
            return steps(q);
#endif
#if defined(PL_WINDOW_BYTES)
        case PL_RESULT:
            return result(q);
#endif
        default:
            return PL_UNKNOWN_COMMAND;
    }
}

/* A repetition walks through the same commands to the same end. */
static void answer(const pl_frame_t *frame, uint8_t repeated)
{
    pl_question_t q = {frame->payload, frame->bytes, repeated, 0u};
    uint8_t trailer[3];
    sequence = frame->sequence;
    asked = 1u;
    if (repeated == 0u) {
        done = 0u;
        status = PL_OK;
    }
    uint16_t walked = 0u;
    uint8_t found = PL_OK;
    while ((q.left != 0u) && (found == PL_OK)) {
        const uint8_t *command = take(&q, 1u);
        found = ((repeated != 0u) && (walked == done)) ? status : carry_out(&q, command[0]);
        if (found == PL_OK) {
            walked++;
        }
    }
    done = walked;
    status = found;
    begin_answer(&q);
    trailer[0] = (uint8_t)done;
    trailer[1] = (uint8_t)(done >> 8);
    trailer[2] = status;
    pl_frame_put(trailer, 3u);
    pl_frame_end();
}

static void refuse(uint8_t why, uint16_t number, uint32_t of_session)
{
    pl_frame_begin(PL_REFUSE, number, of_session);
    pl_frame_put(&why, 1u);
    pl_frame_end();
}

static void hello(const pl_frame_t *frame)
{
    if (frame->session != session) {
        session = frame->session;
        sequence = frame->sequence;
        asked = 0u;
    }
    pl_frame_begin(PL_HELLO, frame->sequence, session);
    answer_u32(PL_BUFFER_BYTES);
    answer_u32(pl_model_features() | CYCLE_FEATURE | STEP_FEATURE);
    answer_u32(pl_model_build);
    answer_u32(pl_model_arena_bytes);
    answer_u32(pl_model_state().bytes);
    answer_u32(pl_model_entries);
    answer_u32(pl_model_inputs);
    answer_u32(pl_model_outputs);
    answer_u32(pl_model_lines);
    answer_u32(WATCH_BYTES);
    answer_u32(WINDOW_BYTES);
    pl_frame_end();
}

static void look_into(const pl_frame_t *frame)
{
    if (frame->version != PL_PROTOCOL_VERSION) {
        refuse(PL_WRONG_VERSION, frame->sequence, frame->session);
    } else if ((frame->kind == PL_HELLO) && (frame->session != 0u)) {
        hello(frame);
    } else if (frame->kind != PL_ASK) {
        refuse(PL_UNKNOWN_KIND, frame->sequence, frame->session);
    } else if ((session == 0u) || (frame->session != session)) {
        refuse(PL_NO_SESSION, frame->sequence, frame->session);
    } else if (frame->sequence == (uint16_t)(sequence + 1u)) {
        answer(frame, 0u);
    } else if ((asked != 0u) && (frame->sequence == sequence)) {
        answer(frame, 1u);
    } else {
        refuse(PL_OUT_OF_ORDER, frame->sequence, frame->session);
    }
}

void pl_serve(void)
{
    pl_frame_t frame;
    pl_io_open();
    pl_model_reset();
    leaving = 0u;
    while (leaving == 0u) {
        const pl_receipt_t receipt = pl_frame_receive(&frame);
        if (receipt == PL_RECEIVED) {
            look_into(&frame);
        } else if (receipt == PL_GONE) {
            return;
        } else {
            refuse((receipt == PL_OVERLONG) ? PL_TOO_LONG : PL_GARBLED, 0u, 0u);
        }
    }
}

void pl_log(const char *text)
{
    uint32_t length = 0u;
    while (text[length] != '\0') {
        length++;
    }
    pl_frame_begin(PL_LOG, 0u, session);
    pl_frame_put(text, length);
    pl_frame_end();
}
