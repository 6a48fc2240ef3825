/* A QEMU plugin that counts the instructions of each run of a model, step by step, without touching the
 * image. Arguments: labels=FILE out=FILE.
 *
 * labels has one line per address: "start ADDR N" (first instruction of an entry point, whose first step is N, in
 * order), "end ADDR" (where it returns to), "step ADDR N" (sorted by N; at one address the last step takes over, the others are empty; a
 * step has several addresses where the compiler copied code).
 * A block of translated code is cut into segments at these addresses. One callback at the first instruction
 * of a segment switches the step when the segment starts at a label, then counts the whole segment for the
 * current step: a kernel that several steps share is charged to each of them. What runs before the first
 * label belongs to the entry point's first step.
 *
 * out gets, at the end of every run, "run N0 N1 ..." (instructions per step); after the first of each entry point also
 * "segment STEP ADDR INSTRUCTIONS TIMES TAKEN" lines (TAKEN: how often the next instruction executed was not
 * the next in memory), closed by "detail"; at exit inside a run "stopped STEP ADDR".
 *
 * The emulator's header is often not installed, so what is used of it is declared here. The declarations
 * have not changed between the versions of that interface; PL_PLUGIN_VERSION says which to claim. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PL_PLUGIN_VERSION
#define PL_PLUGIN_VERSION 1
#endif

#define EXPORT __attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint64_t plugin_id;
enum { CB_NO_REGS = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*cb)(plugin_id id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_atexit_cb(plugin_id id, void (*cb)(plugin_id id, void *data), void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, void (*cb)(unsigned int cpu, void *data),
                                            int flags, void *data);

EXPORT int qemu_plugin_version = PL_PLUGIN_VERSION;
EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);

typedef struct {
    uint64_t times;
    uint64_t taken;
} cell_t;

typedef struct segment {
    struct segment *next; /* in the same hash bucket */
    uint64_t start;
    uint64_t end;
    uint64_t instructions;
    int step;            /* the label at `start`, or -1 */
    struct entry *entry; /* that begins at `start`, or NULL */
    cell_t *cells;       /* (steps), made when first executed inside a run */
} segment_t;

#define HASH 65536u
static segment_t *segments[HASH];

typedef struct {
    uint64_t address;
    int step;
} label_t;

static label_t *labels; /* (label_count) */
static int label_count;
static int steps;
typedef struct entry {
    uint64_t address;
    int first; /* step */
    int runs;
} entry_t;

static entry_t *entries; /* (entry_count) */
static int entry_count;
static entry_t *current; /* the one that runs, or NULL */
static uint64_t end_address;
static FILE *out;

static int step;
static uint64_t *totals; /* (steps) */
static segment_t *last;
static int last_step;

/* The last step that starts at an address, or -1. */
static int step_at(uint64_t address)
{
    for (int i = label_count - 1; i >= 0; i--) {
        if (labels[i].address == address) {
            return labels[i].step;
        }
    }
    return -1;
}

static entry_t *entry_at(uint64_t address)
{
    for (int i = 0; i < entry_count; i++) {
        if (entries[i].address == address) {
            return &entries[i];
        }
    }
    return NULL;
}

static int is_label(uint64_t address)
{
    return entry_at(address) != NULL || address == end_address || step_at(address) >= 0;
}

static void count_detail(segment_t *s)
{
    if (last != NULL && last->end != s->start) {
        last->cells[last_step].taken++;
    }
    last = s;
    last_step = step;
    if (s->start == end_address) {
        return;
    }
    if (s->cells == NULL) {
        s->cells = calloc((size_t)steps, sizeof *s->cells);
    }
    s->cells[step].times++;
}

/* Of the steps of the entry point that ran. */
static void write_detail(void)
{
    const int next = current + 1 < entries + entry_count ? current[1].first : steps;
    for (uint32_t h = 0; h < HASH; h++) {
        for (const segment_t *s = segments[h]; s != NULL; s = s->next) {
            for (int i = current->first; s->cells != NULL && i < next; i++) {
                if (s->cells[i].times != 0) {
                    fprintf(out, "segment %d %" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", i, s->start,
                            s->instructions, s->cells[i].times, s->cells[i].taken);
                }
            }
        }
    }
    fprintf(out, "detail\n");
}

static void end_run(void)
{
    fprintf(out, "run");
    for (int i = 0; i < steps; i++) {
        fprintf(out, " %" PRIu64, totals[i]);
    }
    fprintf(out, "\n");
    if (current->runs++ == 0) {
        write_detail();
    }
    current = NULL;
    fflush(out);
}

static void on_segment(unsigned int cpu, void *data)
{
    segment_t *s = data;
    (void)cpu;
    if (s->entry != NULL) {
        current = s->entry;
        step = current->first;
        last = NULL;
        memset(totals, 0, (size_t)steps * sizeof *totals);
    }
    if (current == NULL) {
        return;
    }
    if (s->step >= 0) {
        step = s->step;
    }
    if (current->runs == 0) {
        count_detail(s);
    }
    if (s->start == end_address) {
        end_run();
        return;
    }
    totals[step] += s->instructions;
    last = s;
}

static segment_t *segment_of(uint64_t start, uint64_t end, uint64_t instructions)
{
    segment_t **slot = &segments[((start >> 1) ^ (instructions << 7)) % HASH];
    for (segment_t *s = *slot; s != NULL; s = s->next) {
        if (s->start == start && s->end == end && s->instructions == instructions) {
            return s;
        }
    }
    segment_t *s = calloc(1, sizeof *s);
    s->start = start;
    s->end = end;
    s->instructions = instructions;
    s->step = step_at(start);
    s->entry = entry_at(start);
    s->next = *slot;
    *slot = s;
    return s;
}

static void on_translate(plugin_id id, struct qemu_plugin_tb *tb)
{
    const size_t n = qemu_plugin_tb_n_insns(tb);
    size_t first = 0;
    (void)id;
    while (first < n) {
        struct qemu_plugin_insn *head = qemu_plugin_tb_get_insn(tb, first);
        const uint64_t start = qemu_plugin_insn_vaddr(head);
        uint64_t end = start + qemu_plugin_insn_size(head);
        size_t next = first + 1;
        while (next < n && !is_label(end)) {
            const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, next);
            end = qemu_plugin_insn_vaddr(insn) + qemu_plugin_insn_size(insn);
            next++;
        }
        qemu_plugin_register_vcpu_insn_exec_cb(head, on_segment, CB_NO_REGS, segment_of(start, end, next - first));
        first = next;
    }
}

static void at_stop(plugin_id id, void *data)
{
    (void)id;
    (void)data;
    if (current != NULL && last != NULL) {
        fprintf(out, "stopped %d %" PRIx64 "\n", step, last->start);
    }
    fclose(out);
}

static int read_labels(const char *path)
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
            entries = realloc(entries, (size_t)(entry_count + 1) * sizeof *entries);
            entries[entry_count++] = (entry_t){address, number, 0};
        } else if (strcmp(kind, "end") == 0) {
            end_address = address;
        } else if (fscanf(file, "%d", &number) == 1) {
            labels = realloc(labels, (size_t)(label_count + 1) * sizeof *labels);
            labels[label_count].address = address;
            labels[label_count++].step = number;
            steps = number + 1;
        }
    }
    fclose(file);
    steps = steps == 0 ? 1 : steps; /* a model without labels is one step */
    totals = calloc((size_t)steps, sizeof *totals);
    return 1;
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "labels=", 7) == 0 && !read_labels(argv[i] + 7)) {
            return -1;
        }
        if (strncmp(argv[i], "out=", 4) == 0) {
            out = fopen(argv[i] + 4, "w");
        }
    }
    if (out == NULL || totals == NULL) {
        fprintf(stderr, "count_plugin: needs labels=FILE and out=FILE\n");
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
    qemu_plugin_register_atexit_cb(id, at_stop, NULL);
    return 0;
}
