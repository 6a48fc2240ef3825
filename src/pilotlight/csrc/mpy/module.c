/* A compiled model as a native module of MicroPython: `import NAME; m = NAME.load("NAME.bin"); m.run(x)`.
 * pl_model.h, which is generated, says what is particular to the model. */
#include "pl_mpy.h"

#include "pl_model.h"

#define N(word) ((pl_name)pl_names[PL_NAME_##word])
#define NO_LENGTH 0xffu
#define HEADER 32u
#define DATA_BYTES (PL_WEIGHTS_BYTES + PL_ABOUT_BYTES)
#define ALIGNMENT 16u
#define ROUNDED(bytes) (((bytes) + ALIGNMENT - 1u) & ~(size_t)(ALIGNMENT - 1u))
#define RAM_BYTES (ROUNDED(PL_ARENA_BYTES) + PL_STATE_BYTES)

/* An object `m`. Pointers to the start of blocks of the heap keep these from being collected. */
typedef struct {
    const void *type;
    pl_memory memory; /* weights, arena, state: 16-byte aligned */
    void *blocks[2];  /* of arena and state, and of weights that were copied */
    pl_object source; /* what mapped weights belong to */
    pl_object about;  /* inputs and outputs, once a tensor was given */
    uint8_t mapped;
    volatile uint8_t busy;
} pl_model;

/* ---- errors ----------------------------------------------------------------------------------------------------- */

typedef struct {
    char text[160];
    size_t bytes;
} sentence;

static void append(void *to, const char *text, size_t bytes)
{
    sentence *const s = to;
    const size_t room = sizeof(s->text) - s->bytes;
    const size_t taken = bytes < room ? bytes : room;

    pl_table->memmove(&s->text[s->bytes], text, taken);
    s->bytes += taken;
}

__attribute__((noreturn)) static void complain(pl_name type, const char *format, ...)
{
    sentence s;
    const pl_printer printer = {&s, append};
    pl_object text;
    va_list arguments;

    s.bytes = 0;
    va_start(arguments, format);
    pl_table->vprintf(&printer, format, arguments);
    va_end(arguments);
    text = pl_table->new_str(s.text, s.bytes);
    pl_table->raise(pl_table->call(pl_table->load_global(type), 1, &text));
    for (;;) {
    }
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static void *allocate(size_t bytes)
{
    void *const block = pl_table->realloc(NULL, bytes, false);

    if (block == NULL) {
        complain(PL_MemoryError, PL_MODEL ": no %u bytes are free", (unsigned)bytes);
    }
    return block;
}

/* Aligned memory; `block` keeps it. */
static uint8_t *allocate_aligned(size_t bytes, void **block)
{
    *block = allocate(bytes + ALIGNMENT - 1u);
    return (uint8_t *)ROUNDED((uintptr_t)*block);
}

static uint32_t crc32(const uint8_t *data, size_t bytes)
{
    static const uint32_t by_nibble[16] = {
        0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u, 0x4db26158u, 0x5005713cu,
        0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu, 0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu,
    };
    uint32_t crc = 0xffffffffu;
    size_t i;

    for (i = 0; i < bytes; i++) {
        crc ^= data[i];
        crc = (crc >> 4) ^ by_nibble[crc & 15u];
        crc = (crc >> 4) ^ by_nibble[crc & 15u];
    }
    return ~crc;
}

/* ---- objects ---------------------------------------------------------------------------------------------------- */

static pl_object method(pl_object self, pl_name name, size_t count, pl_object first, pl_object second)
{
    pl_object all[4];

    pl_table->load_method(self, name, all);
    all[2] = first;
    all[3] = second;
    return pl_table->call_method(count, 0, all);
}

static pl_object call(pl_object function, size_t count, pl_object first, pl_object second)
{
    const pl_object all[2] = {first, second};

    return pl_table->call(function, count, all);
}

static pl_object imported(pl_name name) { return pl_table->import(name, pl_table->none, PL_SMALL(0)); }

static pl_object item(pl_object from, pl_object key) { return pl_table->subscr(from, key, PL_SENTINEL); }

static pl_object named(pl_object dict, pl_name key) { return item(dict, pl_table->to_object(key, PL_NAME)); }

static bool is_str(pl_object value) { return pl_table->type_of(value) == pl_table->type_str; }

static const pl_type model_type;

/* ---- load ------------------------------------------------------------------------------------------------------- */

/* The weights file beside the module's own. */
static pl_object own_file(void)
{
    pl_object found[2];
    pl_buffer path;
    sentence s;
    const char *text;
    size_t folder;

    s.bytes = 0;
    pl_table->find_method(imported((pl_name)pl_names[0]), N(__file__), found);
    if (found[0] != PL_NOTHING && pl_table->buffer(found[0], &path, PL_READ)) {
        text = path.items;
        for (folder = path.bytes; folder != 0u && text[folder - 1u] != '/'; folder--) {
        }
        append(&s, text, folder);
    }
    append(&s, PL_MODEL ".bin", sizeof(PL_MODEL ".bin") - 1u);
    return pl_table->new_str(s.text, s.bytes);
}

__attribute__((noreturn)) static void complain_of_end(size_t bytes)
{
    complain(PL_ValueError, PL_MODEL ": the weights end after %u of %u bytes", (unsigned)bytes, HEADER + DATA_BYTES);
}

/* So many bytes of a stream, which may give them in pieces; `before` were read already. */
static void read(pl_object stream, uint8_t *to, size_t bytes, size_t before)
{
    size_t done = 0;

    while (done < bytes) {
        const pl_object view = pl_table->new_bytearray(bytes - done, &to[done]);
        const pl_object got = method(stream, PL_readinto, 1, view, PL_NOTHING);
        const size_t count = got == pl_table->none ? 0u : (size_t)pl_table->from_object(got, PL_INT);

        if (count - 1u >= bytes - done) { /* none, or more than was asked for */
            complain_of_end(before + done);
        }
        done += count;
    }
}

static void check_header(const uint8_t *header)
{
    static const uint8_t expected[HEADER] = PL_HEADER;
    size_t i;

    for (i = 0; i < HEADER; i++) {
        if (header[i] != expected[i]) {
            complain(PL_ValueError, PL_MODEL ": not the weights of this .mpy");
        }
    }
}

static void check_data(const uint8_t *data)
{
    if (crc32(data, DATA_BYTES) != PL_CRC) {
        complain(PL_ValueError, PL_MODEL ": the weights are damaged");
    }
}

static pl_object load(size_t count, const pl_object *arguments)
{
    pl_object source = count != 0u ? arguments[0] : own_file();
    const bool opened = is_str(source);
    pl_model *const m = allocate(sizeof(pl_model));
    pl_buffer buffer;
    uint8_t *copy;

    pl_table->memset(m, 0, sizeof(pl_model));
    m->type = &model_type;
    m->memory.arena = allocate_aligned(RAM_BYTES < HEADER ? HEADER : RAM_BYTES, &m->blocks[0]);
    m->memory.state = &m->memory.arena[ROUNDED(PL_ARENA_BYTES)];
    if (opened) {
        source = call(pl_table->load_global(PL_open), 2, source, pl_table->new_str("rb", 2));
    }
    if (pl_table->buffer(source, &buffer, PL_READ)) {
        const uint8_t *const file = buffer.items;

        if (buffer.bytes < HEADER + DATA_BYTES) {
            complain_of_end(buffer.bytes);
        }
        check_header(file);
        m->memory.weights = &file[HEADER];
        m->mapped = ((uintptr_t)file & (ALIGNMENT - 1u)) == 0u;
        m->source = source;
    } else {
        read(source, m->memory.arena, HEADER, 0);
        check_header(m->memory.arena);
    }
    if (!m->mapped) {
        copy = allocate_aligned(DATA_BYTES, &m->blocks[1]);
        if (m->source == PL_NOTHING) {
            read(source, copy, DATA_BYTES, HEADER);
        } else {
            pl_table->memmove(copy, m->memory.weights, DATA_BYTES);
            m->source = PL_NOTHING;
        }
        m->memory.weights = copy;
        if (opened) {
            method(source, PL_close, 0, PL_NOTHING, PL_NOTHING);
        }
    }
    check_data(m->memory.weights);
    PL_RESET(&m->memory);
    return m;
}

/* ---- run -------------------------------------------------------------------------------------------------------- */

/* What the weights file says of inputs and outputs. */
static pl_object about(const pl_model *m)
{
    const char *const text = (const char *)&m->memory.weights[PL_WEIGHTS_BYTES];

    return method(imported(N(json)), N(loads), 1, pl_table->new_str(text, PL_ABOUT_BYTES), PL_NOTHING);
}

/* A shape and an order of dimensions: of a tensor, and to the order of the memory; for an output the other way. */
static pl_object about_port(pl_model *m, const pl_entry *entry, pl_name way, const pl_port *port)
{
    pl_object ports;

    if (m->about == PL_NOTHING) {
        m->about = about(m);
    }
    ports = named(m->about, way);
#if PL_ENTRIES > 1
    ports = named(ports, pl_names[entry->name]);
#else
    (void)entry;
#endif
    return named(item(ports, PL_SMALL(port->number)), N(torch));
}

static bool is_tensor(pl_object value)
{
    pl_object found[2];

    pl_table->find_method(value, N(permute), found);
    return found[0] != PL_NOTHING;
}

/* A tensor as the model reads it: PyTorch's shape becomes the order of the memory. */
static pl_object in_order(pl_model *m, const pl_entry *entry, const pl_port *port, pl_object tensor)
{
    const pl_object torch = about_port(m, entry, N(inputs), port);
    const pl_object list = (pl_object)(uintptr_t)pl_table->type_list;
    const pl_object shape = call(list, 1, pl_table->load_attr(tensor, N(shape)), PL_NOTHING);

    if (port->length == NO_LENGTH && pl_table->binary_op(PL_EQUAL, shape, item(torch, PL_SMALL(0))) != pl_table->yes) {
        complain(PL_ValueError, "%s: its shape is not that of m.inputs", port->word);
    }
    tensor = method(tensor, N(permute), 1, item(torch, PL_SMALL(1)), PL_NOTHING);
    tensor = method(tensor, N(contiguous), 0, PL_NOTHING, PL_NOTHING);
    return method(tensor, N(reshape), 1, PL_SMALL(-1), PL_NOTHING); /* one without dimensions lends its text instead */
}

/* An output as a tensor of PyTorch's shape. */
static pl_object as_tensor(pl_model *m, const pl_entry *entry, const pl_port *port, pl_object values)
{
    const pl_object about_it = about_port(m, entry, N(outputs), port), torch = imported(N(torch));
    pl_object all[5];

    pl_table->load_method(torch, N(frombuffer), all);
    all[2] = values;
    all[3] = pl_table->to_object(N(dtype), PL_NAME);
    all[4] = pl_table->load_attr(torch, pl_names[port->dtype]);
    all[0] = method(pl_table->call_method(1, 1, all), N(reshape), 1, item(about_it, PL_SMALL(0)), PL_NOTHING);
    return method(all[0], N(permute), 1, item(about_it, PL_SMALL(1)), PL_NOTHING);
}

/* Whether elements of a buffer may be taken for those of a port: bytes always. */
static bool fits(int letter, int wanted)
{
    if (letter == 'l' && sizeof(long) != 4u) {
        letter = 'q';
    } else if (letter == 'l') {
        letter = 'i';
    }
    return letter == wanted || letter == 'B' || letter == PL_BYTEARRAY;
}

static void borrow(pl_object from, pl_buffer *buffer, unsigned flags, const pl_port *port)
{
    pl_table->buffer(from, buffer, flags | PL_OR_RAISE);
    if (!fits(buffer->type & 0x7f, port->letter)) {
        complain(PL_TypeError, "%s: expected elements of type '%c', got '%c'", port->word, port->letter,
                 buffer->type & 0x7f);
    }
}

__attribute__((noreturn)) static void complain_of_size(const pl_port *port, const pl_buffer *buffer)
{
    complain(PL_ValueError, "%s: expected %u bytes, got %u", port->word, (unsigned)port->bytes,
             (unsigned)buffer->bytes);
}

static pl_object new_array(const pl_model *m, const pl_port *port, size_t bytes)
{
    const char letter = port->letter;

    return method(imported(N(array)), N(array), 2, pl_table->new_str(&letter, 1),
                  pl_table->new_bytearray(bytes, &m->memory.arena[port->offset]));
}

#if PL_LENGTHS
static void put_number(uint8_t *to, size_t bytes, uint32_t number)
{
    size_t i;

    for (i = 0; i < bytes; i++) {
        to[i] = i < 4u ? (uint8_t)(number >> (8u * i)) : 0u;
    }
}

static uint32_t number_at(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

/* The lengths that the buffers have; inputs that share one must agree. */
static void find_lengths(const pl_entry *entry, const pl_buffer *given, uint32_t *lengths)
{
    size_t i;

    for (i = 0; i < entry->input_count; i++) {
        lengths[i] = 0;
    }
    for (i = 0; i < entry->input_count; i++) {
        const pl_port *const port = &entry->inputs[i];
        const pl_port *const size = &entry->inputs[port->length == NO_LENGTH ? 0 : port->length];
        const uint32_t row = port->length == NO_LENGTH ? 1 : port->bytes / size->most;
        const uint32_t length = (uint32_t)given[i].bytes / row;

        if (port->is_size || port->length == NO_LENGTH) {
            continue;
        }
        if (given[i].bytes % row != 0u || length < size->least || length > size->most) {
            complain(PL_ValueError, "%s: expected %u to %u rows of %u bytes, got %u bytes", port->word,
                     (unsigned)size->least, (unsigned)size->most, (unsigned)row, (unsigned)given[i].bytes);
        }
        if (lengths[port->length] != 0u && lengths[port->length] != length + 1u) {
            complain(PL_ValueError, "%s: expected %u rows, as many as the input before it, got %u", port->word,
                     (unsigned)(lengths[port->length] - 1u), (unsigned)length);
        }
        lengths[port->length] = length + 1u;
    }
}
#endif

static void begin(pl_model *m)
{
    if (m->busy) {
        complain(PL_RuntimeError, PL_MODEL " is running");
    }
    m->busy = 1;
}

static pl_object run(const pl_entry *entry, size_t count, const pl_object *arguments, const pl_keywords *keywords)
{
    pl_model *const m = arguments[0];
    pl_buffer given[PL_PORTS], taken[PL_PORTS];
    pl_object values[PL_PORTS], results[PL_PORTS];
    pl_object out = PL_NOTHING;
    bool tensors = false;
    size_t i, next = 1, made = 0;
#if PL_LENGTHS
    uint32_t lengths[PL_PORTS];
#endif

    if (count - 1u != entry->arguments) {
        complain(PL_TypeError, PL_MODEL ": expected %u inputs, got %u", (unsigned)entry->arguments,
                 (unsigned)(count - 1u));
    }
    if (keywords->count != 0u) {
        if (keywords->count != 1u || keywords->table[0].key != pl_table->to_object(N(out), PL_NAME)) {
            complain(PL_TypeError, PL_MODEL ": the only keyword is out");
        }
        out = keywords->table[0].value == pl_table->none ? PL_NOTHING : keywords->table[0].value;
    }

    /* Code of others runs here only; after that, buffers stay where they are. */
    for (i = 0; i < entry->input_count; i++) {
        if (!entry->inputs[i].is_size) {
            values[i] = arguments[next++];
            if (is_tensor(values[i])) {
                tensors = true;
                values[i] = in_order(m, entry, &entry->inputs[i], values[i]);
            }
        }
    }
    if (out != PL_NOTHING && entry->results != 1u) {
        pl_table->unpack(out, entry->results, results);
    }
    next = entry->results;
    for (i = 0; i < entry->output_count; i++) {
        const pl_port *const port = &entry->outputs[i];

        if (!port->is_size && out == PL_NOTHING && port->length == NO_LENGTH) {
            values[entry->input_count + i] = new_array(m, port, port->bytes);
        } else if (!port->is_size && out != PL_NOTHING) {
            values[entry->input_count + i] = entry->results == 1u ? out : results[--next];
            if (port->length != NO_LENGTH) {
                complain(PL_ValueError, "%s: a run decides its length; omit out", port->word);
            }
            if (port->permuted && is_tensor(values[entry->input_count + i])) {
                complain(PL_ValueError, "%s: out is in the order of the memory; a tensor is not", port->word);
            }
        }
    }

    for (i = 0; i < entry->output_count; i++) {
        if (!entry->outputs[i].is_size && entry->outputs[i].length == NO_LENGTH) {
            borrow(values[entry->input_count + i], &taken[i], PL_WRITE, &entry->outputs[i]);
            if (taken[i].bytes != entry->outputs[i].bytes) {
                complain_of_size(&entry->outputs[i], &taken[i]);
            }
        }
    }
    for (i = 0; i < entry->input_count; i++) {
        if (!entry->inputs[i].is_size) {
            borrow(values[i], &given[i], PL_READ, &entry->inputs[i]);
            if (entry->inputs[i].length == NO_LENGTH && given[i].bytes != entry->inputs[i].bytes) {
                complain_of_size(&entry->inputs[i], &given[i]);
            }
        }
    }
#if PL_LENGTHS
    find_lengths(entry, given, lengths);
#endif

    begin(m);
    for (i = 0; i < entry->input_count; i++) {
        const pl_port *const port = &entry->inputs[i];
        uint8_t *const to = &m->memory.arena[port->offset];

#if PL_LENGTHS
        if (port->is_size) {
            put_number(to, port->bytes, lengths[i] == 0u ? 0u : lengths[i] - 1u);
            continue;
        }
        pl_table->memset(&to[given[i].bytes], 0, port->bytes - given[i].bytes);
#endif
        pl_table->memmove(to, given[i].items, given[i].bytes);
    }
    entry->run(&m->memory);
    for (i = 0; i < entry->output_count; i++) {
        const pl_port *const port = &entry->outputs[i];

        if (!port->is_size && port->length == NO_LENGTH) {
            pl_table->memmove(taken[i].items, &m->memory.arena[port->offset], port->bytes);
        }
    }
    m->busy = 0;

    for (i = 0; i < entry->output_count; i++) {
        const pl_port *const port = &entry->outputs[i];

        if (port->is_size) {
            continue;
        }
#if PL_LENGTHS
        if (port->length != NO_LENGTH) {
            const pl_port *const size = &entry->outputs[port->length];
            const uint32_t length = number_at(&m->memory.arena[size->offset]);

            values[entry->input_count + i] = new_array(m, port, (size_t)(port->bytes / port->most) * length);
        }
#endif
        results[made] = values[entry->input_count + i];
        if (tensors && out == PL_NOTHING) {
            results[made] = as_tensor(m, entry, port, results[made]);
        }
        made++;
    }
    __asm__ volatile("" ::"r"(values) : "memory"); /* the heap's collector looks for them on the stack */
    return out != PL_NOTHING ? out : made == 1u ? results[0] : pl_table->new_tuple(made, results);
}

/* ---- the module ------------------------------------------------------------------------------------------------- */

static pl_object reset(size_t count, const pl_object *arguments)
{
    pl_model *const m = arguments[0];

    (void)count;
    begin(m);
    PL_RESET(&m->memory);
    m->busy = 0;
    return pl_table->none;
}

#define RUN(number)                                                                                                    \
    static pl_object run_##number(size_t count, const pl_object *arguments, pl_keywords *keywords)                     \
    {                                                                                                                  \
        return run(&pl_entries[number], count, arguments, keywords);                                                   \
    }
PL_EACH_ENTRY(RUN)

#define FUNCTION(least, most, keywords, body)                                                                          \
    {pl_type_function, PL_SIGNATURE(least, most, keywords), (void (*)(void))body}
#define RUN_FUNCTION(number) FUNCTION(1, 0x7fff, 1, run_##number),

static const pl_function load_function = FUNCTION(0, 1, 0, load), reset_function = FUNCTION(1, 1, 0, reset);
static const pl_function run_functions[] = {PL_EACH_ENTRY(RUN_FUNCTION)};

static void attribute(pl_object self, pl_name name, pl_object *found)
{
    const pl_model *const m = self;
    size_t i;

    if (found[0] != PL_NOTHING) {
        return; /* an assignment */
    }
    if (name == N(inputs) || name == N(outputs)) {
        found[0] = named(about(m), name);
    } else if (name == N(mapped)) {
        found[0] = m->mapped ? pl_table->yes : pl_table->no;
    } else if (name == N(reset)) {
        found[0] = (pl_object)&reset_function;
        found[1] = self;
    }
    for (i = 0; i < PL_ENTRIES; i++) {
        if (name == pl_names[pl_entries[i].name]) {
            found[0] = (pl_object)&run_functions[i];
            found[1] = self;
        }
    }
}

static const pl_type model_type = {.type = pl_type_type, .name = PL_object, .attribute = 1, .slots = {attribute}};

/* Called by `import`; the first function of the image. */
pl_object pl_import_module(const pl_import *self)
{
    void *globals;

#if PL_HELIUM
    /* An instruction set that MicroPython's name of the architecture does not tell: MVFR1. */
    if (((*(const volatile uint32_t *)0xe000ef44u >> 8) & 15u) < PL_HELIUM) {
        complain(PL_ImportError, PL_MODEL " was compiled for a core with Helium, which this core has not; compile it "
                                          "with --arch armv7emdp and without --board");
    }
#endif
    globals = pl_table->swap_globals(self->module->globals);
    pl_table->store_global(N(load), (pl_object)&load_function);
    pl_table->swap_globals(globals);
    return pl_table->none;
}
