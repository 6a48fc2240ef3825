/* Counts the instructions of each run of a model, step by step, from the straight pieces of code ("segments") that an
 * emulator executes. The image is not touched.
 *
 * A file of labels has one line per address: "start ADDR N" (first instruction of an entry point, whose first step is
 * N, in order), "end ADDR" (where it returns to), "step ADDR N" (sorted by N; at one address the last step takes over,
 * the others are empty; a step has several addresses where the compiler copied code). The emulator's blocks of code are
 * cut into segments at these addresses. A segment that starts at a label switches the step, then all of it is counted
 * for the current step: a kernel that several steps share is charged to each of them. What runs before the first label
 * belongs to the entry point's first step.
 *
 * Another file gets, at the end of every run, "run N0 N1 ..." (instructions per step); after the first of each entry
 * point also "segment STEP ADDR INSTRUCTIONS TIMES TAKEN" lines (TAKEN: how often the next instruction executed was not the next
 * in memory), closed by "detail"; at the end inside a run "stopped STEP ADDR". */
#ifndef PL_COUNT_H
#define PL_COUNT_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint64_t times;
    uint64_t taken;
} pl_cell_t;

typedef struct {
    uint64_t address;
    int first; /* step */
    int runs;
} pl_entry_t;

typedef struct pl_segment {
    struct pl_segment *next; /* in the same hash bucket */
    uint64_t start;
    uint64_t end;
    uint64_t instructions;
    int step;          /* the label at `start`, or -1 */
    pl_entry_t *entry; /* that begins at `start`, or NULL */
    pl_cell_t *cells;  /* (steps), made when first executed inside a run */
} pl_segment_t;

typedef struct {
    uint64_t address;
    int step;
} pl_label_t;

#define PL_HASH 65536u

typedef struct {
    pl_segment_t *segments[PL_HASH];
    pl_label_t *labels; /* (label_count) */
    int label_count;
    int steps;
    pl_entry_t *entries; /* (entry_count) */
    int entry_count;
    pl_entry_t *current; /* the one that runs, or NULL */
    uint64_t end_address;
    FILE *out;
    int step;
    uint64_t *totals; /* (steps) */
    pl_segment_t *last;
    int last_step;
} pl_counter_t;

/* The last step that starts at an address, or -1. */
static int pl_step_at(const pl_counter_t *c, uint64_t address)
{
    for (int i = c->label_count - 1; i >= 0; i--) {
        if (c->labels[i].address == address) {
            return c->labels[i].step;
        }
    }
    return -1;
}

static pl_entry_t *pl_entry_at(const pl_counter_t *c, uint64_t address)
{
    for (int i = 0; i < c->entry_count; i++) {
        if (c->entries[i].address == address) {
            return &c->entries[i];
        }
    }
    return NULL;
}

static int pl_is_label(const pl_counter_t *c, uint64_t address)
{
    return pl_entry_at(c, address) != NULL || address == c->end_address || pl_step_at(c, address) >= 0;
}

static void pl_count_detail(pl_counter_t *c, pl_segment_t *s)
{
    if (c->last != NULL && c->last->end != s->start) {
        c->last->cells[c->last_step].taken++;
    }
    c->last = s;
    c->last_step = c->step;
    if (s->start == c->end_address) {
        return;
    }
    if (s->cells == NULL) {
        s->cells = calloc((size_t)c->steps, sizeof *s->cells);
    }
    s->cells[c->step].times++;
}

/* Of the steps of the entry point that ran. */
static void pl_write_detail(const pl_counter_t *c)
{
    const int next = c->current + 1 < c->entries + c->entry_count ? c->current[1].first : c->steps;
    for (uint32_t h = 0; h < PL_HASH; h++) {
        for (const pl_segment_t *s = c->segments[h]; s != NULL; s = s->next) {
            for (int i = c->current->first; s->cells != NULL && i < next; i++) {
                if (s->cells[i].times != 0) {
                    fprintf(c->out, "segment %d %" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", i, s->start,
                            s->instructions, s->cells[i].times, s->cells[i].taken);
                }
            }
        }
    }
    fprintf(c->out, "detail\n");
}

static void pl_end_run(pl_counter_t *c)
{
    fprintf(c->out, "run");
    for (int i = 0; i < c->steps; i++) {
        fprintf(c->out, " %" PRIu64, c->totals[i]);
    }
    fprintf(c->out, "\n");
    if (c->current->runs++ == 0) {
        pl_write_detail(c);
    }
    c->current = NULL;
    fflush(c->out);
}

/* A segment is about to be executed. */
static void pl_count_segment(pl_counter_t *c, pl_segment_t *s)
{
    if (s->entry != NULL) {
        c->current = s->entry;
        c->step = c->current->first;
        c->last = NULL;
        memset(c->totals, 0, (size_t)c->steps * sizeof *c->totals);
    }
    if (c->current == NULL) {
        return;
    }
    if (s->step >= 0) {
        c->step = s->step;
    }
    if (c->current->runs == 0) {
        pl_count_detail(c, s);
    }
    if (s->start == c->end_address) {
        pl_end_run(c);
        return;
    }
    c->totals[c->step] += s->instructions;
    c->last = s;
}

static pl_segment_t *pl_segment_of(pl_counter_t *c, uint64_t start, uint64_t end, uint64_t instructions)
{
    pl_segment_t **slot = &c->segments[((start >> 1) ^ (instructions << 7)) % PL_HASH];
    for (pl_segment_t *s = *slot; s != NULL; s = s->next) {
        if (s->start == start && s->end == end && s->instructions == instructions) {
            return s;
        }
    }
    pl_segment_t *s = calloc(1, sizeof *s);
    s->start = start;
    s->end = end;
    s->instructions = instructions;
    s->step = pl_step_at(c, start);
    s->entry = pl_entry_at(c, start);
    s->next = *slot;
    *slot = s;
    return s;
}

static int pl_read_labels(pl_counter_t *c, const char *path)
{
    char kind[16];
    uint64_t address;
    int number;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return 0;
    }
    while (fscanf(file, "%15s %" SCNx64, kind, &address) == 2) {
        if (strcmp(kind, "start") == 0 && fscanf(file, "%d", &number) == 1) {
            c->entries = realloc(c->entries, (size_t)(c->entry_count + 1) * sizeof *c->entries);
            c->entries[c->entry_count++] = (pl_entry_t){address, number, 0};
            c->steps = (number >= c->steps) ? (number + 1) : c->steps; /* an entry without labels is one step */
        } else if (strcmp(kind, "end") == 0) {
            c->end_address = address;
        } else if (fscanf(file, "%d", &number) == 1) {
            c->labels = realloc(c->labels, (size_t)(c->label_count + 1) * sizeof *c->labels);
            c->labels[c->label_count].address = address;
            c->labels[c->label_count++].step = number;
            c->steps = (number >= c->steps) ? (number + 1) : c->steps;
        }
    }
    fclose(file);
    c->totals = calloc((size_t)c->steps, sizeof *c->totals);
    return 1;
}

/* Says where it stopped if that was inside a run, and closes the file. */
static void pl_end_counting(pl_counter_t *c)
{
    if (c->current != NULL && c->last != NULL) {
        fprintf(c->out, "stopped %d %" PRIx64 "\n", c->step, c->last->start);
    }
    fclose(c->out);
}

#endif
