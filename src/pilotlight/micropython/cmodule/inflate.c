/* DEFLATE for archives that anyone may have written: every length, distance and symbol is checked, and nothing is
 * written but the bytes that are asked for. MicroPython's own decoder trusts its input more than that. */
#include "tensor.h"

#define LONGEST 15   /* bits of a code */
#define LITERALS 288 /* codes for bytes and lengths */
#define DISTANCES 32

typedef struct {
    uint16_t count[LONGEST + 1]; /* of codes, for each number of bits */
    uint16_t symbol[LITERALS];   /* in the order of codes */
} huffman_t;

typedef struct {
    const byte *at, *end;
    byte *start, *to, *limit;
    uint32_t bits; /* read from `at`, not yet used */
    int ready;     /* how many */
    huffman_t literals, distances;
} inflate_t;

static NORETURN void damaged(void) { mp_raise_ValueError(MP_ERROR_TEXT("its compressed data are damaged")); }

static int take(inflate_t *s, int count)
{
    while (s->ready < count) {
        if (s->at == s->end) {
            damaged();
        }
        s->bits |= (uint32_t)*s->at++ << s->ready;
        s->ready += 8;
    }
    const int value = (int)(s->bits & ((1u << count) - 1));
    s->bits >>= count;
    s->ready -= count;
    return value;
}

static void make_codes(huffman_t *h, const byte *lengths, int count)
{
    uint16_t first[LONGEST + 1];
    int left = 1;
    memset(h->count, 0, sizeof(h->count));
    for (int k = 0; k < count; k++) {
        h->count[lengths[k]]++;
    }
    h->count[0] = 0;
    first[1] = 0;
    for (int bits = 1; bits <= LONGEST; bits++) {
        left = left * 2 - h->count[bits];
        if (left < 0) {
            damaged(); /* more codes than there can be */
        }
        if (bits < LONGEST) {
            first[bits + 1] = (uint16_t)(first[bits] + h->count[bits]);
        }
    }
    for (int k = 0; k < count; k++) {
        if (lengths[k]) {
            h->symbol[first[lengths[k]]++] = (uint16_t)k;
        }
    }
}

static int symbol(inflate_t *s, const huffman_t *h)
{
    int code = 0, first = 0, index = 0;
    for (int bits = 1; bits <= LONGEST; bits++) {
        code |= take(s, 1);
        const int count = h->count[bits];
        if (code - count < first) {
            return h->symbol[index + code - first];
        }
        index += count;
        first = (first + count) << 1;
        code <<= 1;
    }
    damaged();
}

static void read_codes(inflate_t *s)
{
    static const byte order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    byte lengths[LITERALS + DISTANCES] = {0};
    const int literals = take(s, 5) + 257, distances = take(s, 5) + 1, given = take(s, 4) + 4;
    int k = 0;
    for (int n = 0; n < given; n++) {
        lengths[order[n]] = (byte)take(s, 3);
    }
    if (literals > LITERALS) {
        damaged();
    }
    make_codes(&s->literals, lengths, 19);
    while (k < literals + distances) {
        const int code = symbol(s, &s->literals);
        if (code < 16) {
            lengths[k++] = (byte)code;
            continue;
        }
        const byte again = code == 16 && k ? lengths[k - 1] : 0;
        int times = code == 16 ? 3 + take(s, 2) : code == 17 ? 3 + take(s, 3) : 11 + take(s, 7);
        if ((code == 16 && !k) || k + times > literals + distances) {
            damaged();
        }
        while (times--) {
            lengths[k++] = again;
        }
    }
    make_codes(&s->literals, lengths, literals);
    make_codes(&s->distances, lengths + literals, distances);
}

static void fixed_codes(inflate_t *s)
{
    byte lengths[LITERALS];
    for (int k = 0; k < LITERALS; k++) {
        lengths[k] = k < 144 ? 8 : k < 256 ? 9 : k < 280 ? 7 : 8;
    }
    make_codes(&s->literals, lengths, LITERALS);
    memset(lengths, 5, DISTANCES);
    make_codes(&s->distances, lengths, DISTANCES);
}

static void put(inflate_t *s, byte value)
{
    if (s->to == s->limit) {
        damaged(); /* more than was said */
    }
    *s->to++ = value;
}

static void coded(inflate_t *s)
{
    for (;;) {
        int code = symbol(s, &s->literals);
        if (code < 256) {
            put(s, (byte)code);
            continue;
        }
        code -= 257;
        if (code < 0) {
            return;
        }
        int extra = code < 8 || code == 28 ? 0 : (code >> 2) - 1;
        int length = code < 8 ? code + 3 : code == 28 ? 258 : ((4 + (code & 3)) << extra) + 3;
        if (code > 28) {
            damaged();
        }
        length += take(s, extra);
        code = symbol(s, &s->distances);
        extra = code < 4 ? 0 : (code >> 1) - 1;
        if (code > 29) {
            damaged();
        }
        const int distance = (code < 4 ? code + 1 : ((2 + (code & 1)) << extra) + 1) + take(s, extra);
        if (distance > s->to - s->start) {
            damaged();
        }
        while (length--) {
            put(s, s->to[-distance]);
        }
    }
}

/* _jit_inflate(data, size): that many bytes. */
mp_obj_t pt_do_jit_inflate(pt_call_t *c)
{
    mp_buffer_info_t data;
    vstr_t out;
    int last;
    mp_get_buffer_raise(c->args[0].object, &data, MP_BUFFER_READ);
    vstr_init_len(&out, (size_t)c->args[1].v.i);
    inflate_t *s = m_new0(inflate_t, 1);
    s->at = data.buf;
    s->end = s->at + data.len;
    s->start = s->to = (byte *)out.buf;
    s->limit = s->to + out.len;
    do {
        last = take(s, 1);
        const int kind = take(s, 2);
        if (kind == 3) {
            damaged();
        } else if (kind) {
            kind == 1 ? fixed_codes(s) : read_codes(s);
            coded(s);
        } else {
            s->ready = 0;
            s->bits = 0;
            const int length = take(s, 16), inverse = take(s, 16);
            if (length != (inverse ^ 0xffff)) {
                damaged();
            }
            for (int k = 0; k < length; k++) {
                put(s, (byte)take(s, 8));
            }
        }
    } while (!last);
    if (s->to != s->limit) {
        damaged();
    }
    m_del(inflate_t, s, 1);
    return mp_obj_new_bytes_from_vstr(&out);
}
