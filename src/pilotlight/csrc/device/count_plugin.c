/* A QEMU plugin that counts the instructions of each run of a model (pl_count.h). Arguments: labels=FILE out=FILE.
 * One callback at the first instruction of a segment counts all of it.
 *
 * The emulator's header is often not installed, so what is used of it is declared here. The declarations
 * have not changed between the versions of that interface; PL_PLUGIN_VERSION says which to claim. */
#include "pl_count.h"

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

static pl_counter_t counter;

static void on_segment(unsigned int cpu, void *data)
{
    (void)cpu;
    pl_count_segment(&counter, data);
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
        while (next < n && !pl_is_label(&counter, end)) {
            const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, next);
            end = qemu_plugin_insn_vaddr(insn) + qemu_plugin_insn_size(insn);
            next++;
        }
        qemu_plugin_register_vcpu_insn_exec_cb(head, on_segment, CB_NO_REGS,
                                               pl_segment_of(&counter, start, end, next - first));
        first = next;
    }
}

static void at_stop(plugin_id id, void *data)
{
    (void)id;
    (void)data;
    pl_end_counting(&counter);
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "labels=", 7) == 0 && !pl_read_labels(&counter, argv[i] + 7)) {
            return -1;
        }
        if (strncmp(argv[i], "out=", 4) == 0) {
            counter.out = fopen(argv[i] + 4, "w");
        }
    }
    if (counter.out == NULL || counter.totals == NULL) {
        fprintf(stderr, "count_plugin: needs labels=FILE and out=FILE\n");
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
    qemu_plugin_register_atexit_cb(id, at_stop, NULL);
    return 0;
}
