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
    const uint8_t *p = NULL;
    if (bytes <= q->left) {
        p = q->at;
        q->at = &q->at[bytes];
        q->left -= bytes;
    }
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
    pl_port_t port;
    switch (command) {
        case PL_INPUT:
            port = pl_model_input(index);
            break;
        case PL_OUTPUT:
            port = pl_model_output(index);
            break;
#if defined(PL_WATCH_BYTES)
        case PL_VIEW:
            port = pl_model_watched();
            break;
#endif
#if defined(PL_WINDOW_BYTES)
        case PL_CODE:
            port = pl_window();
            break;
#endif
        default:
            port = pl_model_state();
            break;
    }
    return port;
}

static uint8_t transfer(pl_question_t *q, uint8_t command)
{
    const uint8_t *args = take(q, 10u);
    uint8_t found = PL_CUT_SHORT;
    if (args != NULL) {
        const uint32_t index = pl_get_u16(args);
        const uint32_t offset = pl_get_u32(&args[2]);
        const uint32_t length = pl_get_u32(&args[6]);
        const bool writes = (command == PL_INPUT) || (command == PL_LOAD) || (command == PL_CODE);
        const uint8_t *data = writes ? take(q, length) : args;
        const uint32_t count = (command == PL_INPUT) ? pl_model_inputs : (command == PL_OUTPUT) ? pl_model_outputs : 1u;
        if (data != NULL) {
            found = PL_NO_SUCH_INDEX;
            if (index < count) {
                const pl_port_t port = port_of(command, index);
                found = ((offset <= port.bytes) && (length <= (port.bytes - offset))) ? PL_OK : PL_OUTSIDE;
                if ((found == PL_OK) && !writes) {
                    begin_answer(q);
                }
                if ((found == PL_OK) && (length != 0u)) {
                    if (!writes) {
                        pl_frame_put(&port.data[offset], length);
                    } else if (q->repeated == 0u) {
                        pl_copy(&port.data[offset], data, length);
                    } else {
                        /* it is there already */
                    }
                }
            }
        }
    }
    return found;
}

static uint8_t run(pl_question_t *q)
{
    const uint8_t *args = take(q, 6u);
    uint8_t found = PL_CUT_SHORT;
    if (args != NULL) {
        const uint32_t entry = pl_get_u16(args);
        found = PL_NO_SUCH_INDEX;
        if (entry < pl_model_entries) {
            for (uint32_t times = (q->repeated != 0u) ? 0u : pl_get_u32(&args[2]); times != 0u; times--) {
                const uint32_t before = CYCLES();
                last_stack = pl_model_run(entry);
                last_cycles = CYCLES() - before;
                if (last_stack > deepest_stack) {
                    deepest_stack = last_stack;
                }
            }
            found = PL_OK;
        }
    }
    return found;
}

static uint8_t fill_arena(pl_question_t *q)
{
    const uint8_t *args = take(q, 1u);
    volatile uint8_t *p = pl_model_arena();
    uint8_t found = PL_CUT_SHORT;
    if (args != NULL) {
        for (uint32_t i = 0u; (q->repeated == 0u) && (i < pl_model_arena_bytes); i++) {
            p[i] = args[0];
        }
        found = PL_OK;
    }
    return found;
}

static uint8_t describe(pl_question_t *q)
{
    const uint8_t *args = take(q, 2u);
    uint8_t found = PL_CUT_SHORT;
    if (args != NULL) {
        const uint32_t line = pl_get_u16(args);
        found = PL_NO_SUCH_INDEX;
        if (line < pl_model_lines) {
            const char *text = pl_model_line(line);
            uint32_t length = 0u;
            while (text[length] != '\0') {
                length++;
            }
            const uint8_t size[2] = {(uint8_t)length, (uint8_t)(length >> 8)};
            begin_answer(q);
            pl_frame_put(size, 2u);
            pl_frame_put(text, length);
            found = PL_OK;
        }
    }
    return found;
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
    uint8_t found = PL_CUT_SHORT;
    if (args != NULL) {
        const uint32_t step = pl_get_u16(args);
        const uint32_t offset = pl_get_u32(&args[2]);
        const uint32_t length = pl_get_u32(&args[6]);
        const bool inside = (offset <= pl_model_arena_bytes) && (length <= (pl_model_arena_bytes - offset));
        if (step >= pl_model_steps()) {
            found = PL_NO_SUCH_INDEX;
        } else if ((length > WATCH_BYTES) || !inside) {
            found = PL_OUTSIDE;
        } else {
            found = PL_OK;
            if (q->repeated == 0u) {
                pl_model_watch(step, offset, length);
            }
        }
    }
    return found;
}
#endif

#if defined(PL_WINDOW_BYTES)
static uint8_t call_window(pl_question_t *q)
{
    const uint8_t *args = take(q, 8u);
    uint8_t found = PL_CUT_SHORT;
    if (args != NULL) {
        const uint32_t offset = pl_get_u32(args);
        found = ((offset < WINDOW_BYTES) && ((offset & 3u) == 0u)) ? PL_OK : PL_OUTSIDE;
        if ((found == PL_OK) && (q->repeated == 0u)) {
            const uint32_t before = CYCLES();
            last_result = pl_window_call(offset, pl_get_u32(&args[4]));
            last_cycles = CYCLES() - before;
        }
    }
    return found;
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
    uint8_t found = PL_CUT_SHORT;
    if (args != NULL) {
        const uint32_t first = pl_get_u16(args);
        const uint32_t end = first + pl_get_u16(&args[2]);
        found = PL_NO_SUCH_INDEX;
        if (end <= pl_model_steps()) {
            begin_answer(q);
            for (uint32_t i = first; i < end; i++) {
                answer_u32(pl_model_step_cycles(i));
            }
            found = PL_OK;
        }
    }
    return found;
}
#endif

static uint8_t change(pl_question_t *q, uint8_t command)
{
    uint8_t found = PL_OK;
    if (q->reading != 0u) {
        found = PL_WRONG_ORDER;
    } else {
        switch (command) {
            case PL_RUN:
                found = run(q);
                break;
            case PL_FILL:
                found = fill_arena(q);
                break;
#if defined(PL_WATCH_BYTES)
            case PL_WATCH:
                found = watch(q);
                break;
#endif
#if defined(PL_WINDOW_BYTES)
            case PL_CALL:
                found = call_window(q);
                break;
#endif
            case PL_LEAVE:
                leaving = 1u;
                break;
            case PL_START:
                if (q->repeated == 0u) {
                    pl_model_reset();
                }
                break;
            default: /* INPUT, LOAD and CODE */
                found = transfer(q, command);
                break;
        }
    }
    return found;
}

static uint8_t carry_out(pl_question_t *q, uint8_t command)
{
    uint8_t found;
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
            found = change(q, command);
            break;
        case PL_OUTPUT:
        case PL_SAVE:
#if defined(PL_WATCH_BYTES)
        case PL_VIEW:
#endif
            found = transfer(q, command);
            break;
        case PL_DESCRIBE:
            found = describe(q);
            break;
        case PL_MARKS:
            found = marks(q);
            break;
#if defined(PL_CYCLES) && defined(PL_STEPS)
        case PL_TIMES:
            found = steps(q);
            break;
#endif
#if defined(PL_WINDOW_BYTES)
        case PL_RESULT:
            found = result(q);
            break;
#endif
        default:
            found = PL_UNKNOWN_COMMAND;
            break;
    }
    return found;
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
            leaving = 1u;
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
