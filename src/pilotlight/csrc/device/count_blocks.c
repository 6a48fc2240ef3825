/* Counts instructions (pl_count.h) for an emulator in this process that calls a function at each block of code.
 * A block is straight: entering it executes all of it, so labels inside it cut it once, when it is first seen. */
#include "pl_count.h"

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

typedef struct block {
    struct block *next; /* in the same hash bucket */
    uint64_t address;
    uint32_t size;
    uint32_t count;
    pl_segment_t *segments[]; /* (count) */
} block_t;

typedef struct {
    pl_counter_t counter;
    block_t *blocks[PL_HASH];
    const uint8_t *code; /* from `base` on, `bytes` long */
    uint64_t base;
    uint64_t bytes;
    int thumb;
} blocks_t;

EXPORT blocks_t *pl_blocks_open(const char *labels, const char *out, const uint8_t *code, uint64_t base, uint64_t bytes,
                                int thumb);
EXPORT void pl_blocks_enter(void *emulator, uint64_t address, uint32_t size, void *blocks);
EXPORT void pl_blocks_close(blocks_t *b);

blocks_t *pl_blocks_open(const char *labels, const char *out, const uint8_t *code, uint64_t base, uint64_t bytes,
                         int thumb)
{
    blocks_t *b = calloc(1, sizeof *b);
    b->code = code;
    b->base = base;
    b->bytes = bytes;
    b->thumb = thumb;
    b->counter.out = fopen(out, "w");
    if (b->counter.out == NULL || !pl_read_labels(&b->counter, labels)) {
        free(b);
        return NULL;
    }
    return b;
}

/* Bytes of the instruction at an address; 0 outside the code. */
static uint64_t length_at(const blocks_t *b, uint64_t address)
{
    const uint64_t at = address - b->base;
    if (address < b->base || at + 2u > b->bytes) {
        return 0u;
    }
    if (b->thumb) {
        return b->code[at + 1u] >= 0xE8u ? 4u : 2u;
    }
    return (b->code[at] & 3u) == 3u ? 4u : 2u;
}

static block_t *make_block(blocks_t *b, uint64_t address, uint32_t size)
{
    pl_segment_t *made[1024];
    uint32_t count = 0;
    uint64_t at = address;
    while (at < address + size && count < 1024u) {
        const uint64_t start = at;
        uint64_t instructions = 0;
        do {
            const uint64_t length = length_at(b, at);
            at = length == 0u ? address + size : at + length;
            instructions++;
        } while (at < address + size && !pl_is_label(&b->counter, at));
        made[count++] = pl_segment_of(&b->counter, start, at, instructions);
    }
    block_t *block = calloc(1, sizeof *block + count * sizeof *block->segments);
    block->address = address;
    block->size = size;
    block->count = count;
    memcpy(block->segments, made, count * sizeof *made);
    return block;
}

void pl_blocks_enter(void *emulator, uint64_t address, uint32_t size, void *blocks)
{
    blocks_t *b = blocks;
    (void)emulator;
    block_t **slot = &b->blocks[(address >> 1) % PL_HASH];
    block_t *block = *slot;
    while (block != NULL && (block->address != address || block->size != size)) {
        block = block->next;
    }
    if (block == NULL) {
        block = make_block(b, address, size);
        block->next = *slot;
        *slot = block;
    }
    for (uint32_t i = 0; i < block->count; i++) {
        pl_count_segment(&b->counter, block->segments[i]);
    }
}

void pl_blocks_close(blocks_t *b)
{
    pl_end_counting(&b->counter);
    for (uint32_t h = 0; h < PL_HASH; h++) {
        for (block_t *block = b->blocks[h], *next; block != NULL; block = next) {
            next = block->next;
            free(block);
        }
        for (pl_segment_t *s = b->counter.segments[h], *next; s != NULL; s = next) {
            next = s->next;
            free(s->cells);
            free(s);
        }
    }
    free(b->counter.labels);
    free(b->counter.entries);
    free(b->counter.totals);
    free(b);
}
