#ifndef PL_PROTOCOL_H
#define PL_PROTOCOL_H

/* The wire protocol between a computer and a board that holds one model. It needs a reliable stream of
 * bytes each way and nothing else; pl_io.h names what a carrier (semihosting, pipe, serial line) must provide.
 *
 * Every message is a header of 8 bytes and `length` bytes of payload, numbers little endian:
 *
 *     uint8 kind    uint8 index % 256    uint8 status    uint8 index / 256    uint32 length
 *
 * The board speaks first, with HELLO. Then the computer asks and the board answers each question with a
 * message of the same kind and index, in order; an answer whose status is not OK has no payload.
 *
 *     kind    index            payload of the question    payload of the answer
 *     HELLO   -                (the board speaks)         uint32 version, arena, state, inputs, outputs
 *     INPUT   which input      its bytes                  -
 *     OUTPUT  which output     -                          its bytes
 *     FILL    a byte           -                          -          every byte of the arena becomes `index`
 *     RESET   -                -                          -          the model's state starts over
 *     RUN     which entry      -                          uint32     bytes of stack touched by the run
 *     QUIT    -                -                          -          the board stops
 *
 * A model with several entry points numbers the inputs of the first, then those of the second, and so on; outputs
 * likewise.
 */
#define PL_PROTOCOL_VERSION 1u

#define PL_HEADER_BYTES 8u

#define PL_HELLO 'H'
#define PL_INPUT 'I'
#define PL_OUTPUT 'O'
#define PL_FILL 'F'
#define PL_RESET 'Z'
#define PL_RUN 'R'
#define PL_QUIT 'Q'

#define PL_OK 0u
#define PL_NO_SUCH_INDEX 1u
#define PL_WRONG_LENGTH 2u
#define PL_UNKNOWN_KIND 3u

/* Where no stack can be measured. */
#define PL_STACK_UNKNOWN 0xFFFFFFFFu

#endif
