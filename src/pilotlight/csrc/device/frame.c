#include "pl_frame.h"

#include <stdbool.h>

#include "pl_io.h"
#include "pl_protocol.h"

#define BLOCK 255u /* COBS: a code and up to 254 bytes */

static uint8_t buffer[PL_BUFFER_BYTES + 1u]; /* one more: a zero ends the search for zeros */
static uint32_t start;                       /* of the frame that comes in */
static uint32_t have;                        /* bytes in the buffer */

static uint8_t sent[PL_SEND_BYTES];
static uint32_t block; /* where the block begins whose code is not known yet */
static uint32_t fill;  /* bytes in `sent` */
static uint32_t check; /* CRC so far */

/* Through volatile: a compiler would make a call of memmove of it, which there may not be. */
void pl_copy(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    volatile uint8_t *out = to;
    for (uint32_t i = 0u; i < bytes; i++) {
        out[i] = from[i];
    }
}

uint32_t pl_get_u16(const uint8_t *p) { return (uint32_t)p[0] | ((uint32_t)p[1] << 8); }

uint32_t pl_get_u32(const uint8_t *p) { return pl_get_u16(p) | (pl_get_u16(&p[2]) << 16); }

void pl_put_u32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}

/* CRC-32 as zlib's, four bits at a time. */
static uint32_t crc(uint32_t value_start, const uint8_t *data, uint32_t bytes)
{
    uint32_t value = value_start;
    static const uint32_t table[16] = {
        0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u, 0x4DB26158u, 0x5005713Cu,
        0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu, 0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu,
    };
    for (uint32_t i = 0u; i < bytes; i++) {
        value ^= data[i];
        value = (value >> 4) ^ table[value & 15u];
        value = (value >> 4) ^ table[value & 15u];
    }
    return value;
}

/* Undoes the stuffing in place; returns the bytes that are left, 0 if a block reaches past the end. */
static uint32_t unstuff(uint8_t *p, uint32_t bytes)
{
    uint32_t in = 0u;
    uint32_t out = 0u;
    bool whole = true;
    while (whole && (in < bytes)) {
        const uint32_t code = p[in];
        in++;
        whole = (code - 1u) <= (bytes - in);
        if (whole) {
            pl_copy(&p[out], &p[in], code - 1u);
            in += code - 1u;
            out += code - 1u;
            if ((code != BLOCK) && (in < bytes)) {
                p[out] = 0u;
                out++;
            }
        }
    }
    return whole ? out : 0u;
}

static pl_receipt_t read_body(pl_frame_t *frame, uint8_t *body, uint32_t stuffed)
{
    const uint32_t bytes = unstuff(body, stuffed);
    pl_receipt_t receipt = PL_UNREADABLE;
    if (bytes >= (PL_HEADER_BYTES + PL_CHECK_BYTES)) {
        const uint32_t checked = bytes - PL_CHECK_BYTES;
        if (~crc(0xFFFFFFFFu, body, checked) == pl_get_u32(&body[checked])) {
            frame->version = body[0];
            frame->kind = body[1];
            frame->sequence = (uint16_t)pl_get_u16(&body[2]);
            frame->session = pl_get_u32(&body[4]);
            frame->payload = &body[PL_HEADER_BYTES];
            frame->bytes = checked - PL_HEADER_BYTES;
            receipt = PL_RECEIVED;
        }
    }
    return receipt;
}

/* Makes room at the end of the buffer; false if one frame fills it. */
static bool make_room(void)
{
    if (start != 0u) {
        pl_copy(buffer, &buffer[start], have - start);
        have -= start;
        start = 0u;
    }
    return have < PL_BUFFER_BYTES;
}

/* What follows a frame in the buffer stays there for the next call. */
pl_receipt_t pl_frame_receive(pl_frame_t *frame)
{
    uint32_t at = start; /* all before it is not zero */
    bool too_long = false;
    bool waiting = true;
    pl_receipt_t receipt = PL_GONE;
    while (waiting) {
        buffer[have] = 0u;
        while (buffer[at] != 0u) {
            at++;
        }
        if (at < have) {
            uint8_t *body = &buffer[start];
            const uint32_t stuffed = at - start;
            at++;
            start = at;
            if (too_long) {
                receipt = PL_OVERLONG;
                waiting = false;
            } else if (stuffed != 0u) {
                receipt = read_body(frame, body, stuffed);
                waiting = false;
            } else {
                /* zeros between frames */
            }
        } else {
            if (start == have) {
                start = 0u;
                have = 0u;
            } else if ((have == PL_BUFFER_BYTES) && !make_room()) {
                too_long = true;
                have = 0u;
            } else {
                /* there is room */
            }
            at = have;
            const uint32_t got = pl_io_read(&buffer[have], PL_BUFFER_BYTES - have);
            if ((got == 0u) || (got > (PL_BUFFER_BYTES - have))) {
                waiting = false;
            } else {
                have += got;
            }
        }
    }
    return receipt;
}

/* Sends the blocks that are complete; the open one moves to the front. */
static void flush(void)
{
    pl_io_write(sent, block);
    pl_copy(sent, &sent[block], fill - block);
    fill -= block;
    block = 0u;
}

static void close_block(void)
{
    sent[block] = (uint8_t)(fill - block);
    block = fill;
    if (fill == PL_SEND_BYTES) {
        flush();
    }
    fill++; /* the code of the next one */
}

static void stuff(const uint8_t *data, uint32_t bytes)
{
    uint32_t from = 0u;
    while (from < bytes) {
        uint32_t at = fill;
        const uint32_t block_left = block + BLOCK - at;
        const uint32_t left = bytes - from;
        uint32_t most = (left < block_left) ? left : block_left;
        if (most > (PL_SEND_BYTES - at)) {
            most = PL_SEND_BYTES - at;
        }
        const uint32_t stop = from + most;
        while ((from < stop) && (data[from] != 0u)) {
            sent[at] = data[from];
            at++;
            from++;
        }
        fill = at;
        if ((at - block) == BLOCK) {
            close_block();
        } else if (from < stop) { /* a zero */
            from++;
            close_block();
        } else if (at == PL_SEND_BYTES) {
            flush();
        } else {
            /* all is done */
        }
    }
}

void pl_frame_begin(uint8_t kind, uint16_t sequence, uint32_t session)
{
    uint8_t header[PL_HEADER_BYTES];
    sent[0] = 0u;
    block = 1u;
    fill = 2u;
    check = 0xFFFFFFFFu;
    pl_put_u32(header, PL_PROTOCOL_VERSION | ((uint32_t)kind << 8) | ((uint32_t)sequence << 16));
    pl_put_u32(&header[4], session);
    pl_frame_put(header, PL_HEADER_BYTES);
}

void pl_frame_put(const void *data, uint32_t bytes)
{
    const uint8_t *from = (const uint8_t *)data;
    check = crc(check, from, bytes);
    stuff(from, bytes);
}

void pl_frame_end(void)
{
    uint8_t last[PL_CHECK_BYTES];
    pl_put_u32(last, ~check);
    stuff(last, PL_CHECK_BYTES);
    sent[block] = (uint8_t)(fill - block);
    if (fill == PL_SEND_BYTES) {
        block = fill;
        flush();
    }
    sent[fill] = 0u;
    pl_io_write(sent, fill + 1u);
}
