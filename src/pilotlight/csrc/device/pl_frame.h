#ifndef PL_FRAME_H
#define PL_FRAME_H

#include <stdint.h>

/* Frames of pl_protocol.h over pl_io.h. */
typedef struct {
    uint8_t version;
    uint8_t kind;
    uint16_t sequence;
    uint32_t session;
    const uint8_t *payload; /* (bytes), until the next frame is received */
    uint32_t bytes;
} pl_frame_t;

typedef enum { PL_RECEIVED, PL_UNREADABLE, PL_OVERLONG, PL_GONE } pl_receipt_t;

/* The transfer buffer: the largest frame that can be received. */
#if !defined(PL_BUFFER_BYTES)
#define PL_BUFFER_BYTES 1024u
#endif

/* What is sent at once; at least 256. */
#if !defined(PL_SEND_BYTES)
#define PL_SEND_BYTES 256u
#endif

/* Waits for the next frame, good or bad. */
pl_receipt_t pl_frame_receive(pl_frame_t *frame);

/* Sends a frame piece by piece. Another one that begins before the end leaves an unreadable one on the line. */
void pl_frame_begin(uint8_t kind, uint16_t sequence, uint32_t session);
void pl_frame_put(const void *data, uint32_t bytes);
void pl_frame_end(void);

void pl_copy(uint8_t *to, const uint8_t *from, uint32_t bytes);
uint32_t pl_get_u16(const uint8_t *p);
uint32_t pl_get_u32(const uint8_t *p);
void pl_put_u32(uint8_t *p, uint32_t v);

#endif
