#ifndef PL_PROTOCOL_H
#define PL_PROTOCOL_H

/* The wire protocol between a computer and a board that holds one model. It needs a stream of bytes each way, which
 * may lose, change or invent bytes; pl_io.h names what a carrier (serial line, USB, TCP, semihosting, pipe) provides.
 *
 * FRAMES. A frame is a body, stuffed with COBS so that it has no zero, between two zeros: after any fault the next zero
 * starts over. Numbers are little endian. The body is
 *
 *     uint8 version    uint8 kind    uint16 sequence    uint32 session    payload    uint32 CRC-32 of all before it
 *
 *     kind     from       payload
 *     HELLO    computer   -            opens a session, whose number the computer invents (not 0)
 *     HELLO    board      11 uint32: bytes of its buffer, features, build id, arena, state, entry points, inputs,
 *                         outputs, lines of its description, bytes that WATCH can keep, bytes
 *                         of the window for CODE
 *     ASK      computer   commands, one after the other
 *     ANSWER   board      what the commands read, uint16 commands carried out, uint8 status
 *     LOG      board      a line of text, at any time between other frames
 *     REFUSE   board      uint8 why this frame was not looked into
 *
 * A frame of the computer with its zeros is not larger than the board's buffer; the board's frames may be of any size.
 *
 * SESSIONS. A board that started over knows no session and refuses with NO_SESSION; a new HELLO from the computer ends
 * the session before it. The model's state and its inputs outlive a session.
 *
 * SEQUENCE. HELLO has one number, each ASK the next one. An ASK with the number of the last one is a repetition,
 * because the answer was lost: it is answered again, but nothing is changed again. An answer has the number of its
 * question, and the computer takes no other. A frame that cannot be read is refused with GARBLED or TOO_LONG, number 0
 * and session 0, so that the computer need not wait.
 *
 * COMMANDS. First those that change something, then those that read, so that a repetition reads the same. The first
 * one that fails ends the frame; it is not counted as carried out and has no data.
 *
 *     command  arguments                                   data in the answer
 *     INPUT    uint16 which, uint32 offset, length, bytes  -
 *     LOAD     uint16 0, uint32 offset, length, bytes      -            part of the model's state
 *     FILL     uint8 byte                                  -            every byte of the arena becomes that
 *     START    -                                           -            the model's state starts over
 *     RUN      uint16 entry point, uint32 times            -
 *     WATCH    uint16 step, uint32 offset, length          -            keep bytes of the arena after this step (debug)
 *     CODE     uint16 0, uint32 offset, length, bytes      -            into the window in RAM (only if built in)
 *     CALL     uint32 offset, uint32 argument              -            what begins there in the window (only if built in)
 *     LEAVE    -                                           -            the server ends: a board resets, a program stops
 *     OUTPUT   uint16 which, uint32 offset, length         its bytes
 *     SAVE     uint16 0, uint32 offset, length             bytes of the model's state
 *     VIEW     uint16 0, uint32 offset, length             the bytes that WATCH kept in the last run (debug)
 *     DESCRIBE uint16 line                                 uint16 length, the line (see docs/device-protocol.md)
 *     MARKS    -                                           uint32 stack of the last run, deepest stack of any run,
 *                                                          cycles of the last run
 *     TIMES    uint16 first, uint16 how many               uint32 cycles of each of these steps in the last run
 *     RESULT   -                                           uint32 result, cycles of the last CALL (only if built in)
 *
 * A model with several entry points numbers the inputs of the first, then those of the second, and so on; outputs and
 * steps likewise. */
#define PL_PROTOCOL_VERSION 2u

#define PL_HEADER_BYTES 8u
#define PL_CHECK_BYTES 4u

#define PL_HELLO 1u
#define PL_ASK 2u
#define PL_ANSWER 3u
#define PL_LOG 4u
#define PL_REFUSE 5u

#define PL_INPUT 0x49u    /* 'I' */
#define PL_LOAD 0x4cu     /* 'L' */
#define PL_FILL 0x46u     /* 'F' */
#define PL_START 0x5au    /* 'Z' */
#define PL_RUN 0x52u      /* 'R' */
#define PL_LEAVE 0x51u    /* 'Q' */
#define PL_WATCH 0x57u    /* 'W' */
#define PL_CODE 0x50u     /* 'P' */
#define PL_CALL 0x4bu     /* 'K' */
#define PL_OUTPUT 0x4fu   /* 'O' */
#define PL_SAVE 0x53u     /* 'S' */
#define PL_VIEW 0x56u     /* 'V' */
#define PL_DESCRIBE 0x44u /* 'D' */
#define PL_MARKS 0x4du    /* 'M' */
#define PL_TIMES 0x43u    /* 'C' */
#define PL_RESULT 0x55u   /* 'U' */

/* Status of an answer. */
#define PL_OK 0u
#define PL_NO_SUCH_INDEX 1u
#define PL_OUTSIDE 2u /* of the tensor or the state */
#define PL_UNKNOWN_COMMAND 3u
#define PL_CUT_SHORT 4u   /* the frame ends inside the command */
#define PL_WRONG_ORDER 5u /* a change after a read */

/* Why a frame is refused. */
#define PL_NO_SESSION 16u
#define PL_OUT_OF_ORDER 17u
#define PL_WRONG_VERSION 18u
#define PL_GARBLED 19u
#define PL_TOO_LONG 20u
#define PL_UNKNOWN_KIND 21u

/* Features. */
#define PL_HAS_STACK 1u
#define PL_HAS_CYCLES 2u
#define PL_HAS_STEPS 4u

/* Where nothing was measured. */
#define PL_NOT_MEASURED 0xFFFFFFFFu

#endif
