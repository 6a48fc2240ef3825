#include "interpreter.h"

#include <string.h>

#include "py/builtin.h"
#include "py/compile.h"
#include "py/gc.h"
#include "py/lexer.h"
#include "py/mperrno.h"
#include "py/mphal.h"
#include "py/objexcept.h"
#include "py/objlist.h"
#include "py/objmodule.h"
#include "py/objstr.h"
#include "py/runtime.h"
#include "py/stream.h"
#include "shared/runtime/gchelper.h"

#include "files.h"
#include "tensor.h"

#define LEAST_HEAP 8192
#define DEFAULT_STACK 49152
#define LEAST_STACK 4096

static interpreter_options options;
static bool running, busy;
static uint32_t generation; /* of the last handle, of all interpreters */

/* ---- errors ----------------------------------------------------------------------------------------------------- */

typedef struct {
    char *to;
    size_t room;
} cut_text_t;

static void cut_text(void *data, const char *text, size_t bytes)
{
    cut_text_t *cut = data;
    const size_t count = bytes < cut->room ? bytes : cut->room;
    memcpy(cut->to, text, count);
    cut->to += count;
    cut->room -= count;
    *cut->to = '\0';
}

static void put_text(char *to, size_t size, const char *text)
{
    cut_text_t cut = {to, size - 1};
    cut_text(&cut, text, strlen(text));
}

static bool refuse(interpreter_error *error, const char *type, const char *message)
{
    if (error) {
        memset(error, 0, sizeof(*error));
        put_text(error->type, sizeof(error->type), type);
        put_text(error->message, sizeof(error->message), message);
    }
    return false;
}

/* An exception's text, which a class may make in Python and which may need memory. */
static bool put_message(interpreter_error *error, mp_obj_t exception)
{
    nlr_buf_t nlr;
    cut_text_t cut = {error->message, sizeof(error->message) - 1};
    const mp_print_t print = {&cut, cut_text};
    error->message[0] = '\0';
    if (nlr_push(&nlr) == 0) {
        mp_obj_print_helper(&print, exception, PRINT_STR);
        nlr_pop();
        return true;
    }
    return false;
}

/* The innermost line that is not torch's own. */
static void put_line(interpreter_error *error, mp_obj_t exception)
{
    size_t count = 0, *lines = NULL;
    mp_obj_exception_get_traceback(exception, &count, &lines);
    for (size_t k = 0; k + 2 < count; k += 3) { /* file, line, function: the innermost comes first */
        const char *file = qstr_str((qstr)lines[k]);
        if (strncmp(file, "torch", 5) != 0) {
            put_text(error->file, sizeof(error->file), file);
            error->line = (uint32_t)lines[k + 1];
            return;
        }
    }
}

static void describe(mp_obj_t exception, interpreter_error *error)
{
    refuse(error, qstr_str(mp_obj_get_type(exception)->name), "");
    if (error) {
        if (!put_message(error, exception)) {
            gc_collect(); /* what the failed call has left */
            put_message(error, exception);
        }
        if (mp_obj_is_exception_instance(exception)) {
            put_line(error, exception);
        }
    }
}

/* ---- calls into Python ------------------------------------------------------------------------------------------ */

/* What the functions of the header pass to their inner parts. */
typedef struct {
    const char *text;
    interpreter_value object, value;
    size_t count;
    const interpreter_value *values;
    interpreter_value *result;
    const void *in;
    void *out;
    double number;
    int64_t whole;
} work_t;

typedef void (*task_t)(work_t *work);

/* An exception jumps here, over frames of C only. */
static MP_NOINLINE bool catch_errors(task_t task, work_t *work, interpreter_error *error)
{
    nlr_buf_t nlr;
    if (nlr_push(&nlr) == 0) {
        task(work);
        nlr_pop();
        return true;
    }
    describe(MP_OBJ_FROM_PTR(nlr.ret_val), error);
    return false;
}

/* The collector looks for objects on the stack from this frame on down: all that uses them is called from here. */
static MP_NOINLINE bool run(task_t task, work_t *work, interpreter_error *error)
{
#if defined(__GNUC__)
    char *const top = __builtin_frame_address(0);
#else
    char here = 0;
    char *const top = &here;
#endif
    if (!running || busy) {
        return refuse(error, "RuntimeError", running ? "the interpreter is busy" : "no interpreter is running");
    }
    busy = true;
    mp_cstack_init_with_top(top, options.stack_bytes);
    mp_globals_set(&MP_STATE_VM(dict_main));
    mp_locals_set(&MP_STATE_VM(dict_main));
    const bool fine = catch_errors(task, work, error);
    busy = false;
    return fine;
}

/* ---- handles ---------------------------------------------------------------------------------------------------- */

typedef struct {
    mp_obj_t object; /* MP_OBJ_NULL: free */
    uint32_t generation;
} slot_t;

/* In pieces, which find room in a heap that has no large one left. */
#define PIECE 16
typedef struct _interpreter_slots_t {
    struct _interpreter_slots_t *next;
    slot_t slots[PIECE];
} slots_t;

MP_REGISTER_ROOT_POINTER(struct _interpreter_slots_t *interpreter_slots);

static slot_t *slot_of(interpreter_value value)
{
    slots_t *piece = running && value.generation ? MP_STATE_VM(interpreter_slots) : NULL;
    for (uint32_t k = value.slot / PIECE; piece && k; k--) {
        piece = piece->next;
    }
    slot_t *slot = piece ? &piece->slots[value.slot % PIECE] : NULL;
    return slot && slot->object != MP_OBJ_NULL && slot->generation == value.generation ? slot : NULL;
}

static mp_obj_t object_of(interpreter_value value)
{
    const slot_t *slot = slot_of(value);
    if (!slot) {
        mp_raise_ValueError(MP_ERROR_TEXT("this handle holds no value"));
    }
    return slot->object;
}

static void hold(mp_obj_t object, interpreter_value *value)
{
    slots_t **piece = &MP_STATE_VM(interpreter_slots);
    uint32_t number = 0;
    for (;; number++) {
        if (number && number % PIECE == 0) {
            piece = &(*piece)->next;
        }
        if (!*piece) {
            *piece = m_new0(slots_t, 1);
        }
        if ((*piece)->slots[number % PIECE].object == MP_OBJ_NULL) {
            break;
        }
    }
    generation += generation == UINT32_MAX ? 2 : 1;
    (*piece)->slots[number % PIECE] = (slot_t){object, generation};
    value->slot = number;
    value->generation = generation;
}

void interpreter_release(interpreter_value value)
{
    slot_t *slot = slot_of(value);
    if (slot) {
        slot->object = MP_OBJ_NULL;
    }
}

bool interpreter_is_none(interpreter_value value)
{
    const slot_t *slot = slot_of(value);
    return slot && slot->object == mp_const_none;
}

/* A handle that a failed call leaves is none. */
static bool make(task_t task, work_t *work, interpreter_value *value, interpreter_error *error)
{
    memset(value, 0, sizeof(*value));
    work->result = value;
    return run(task, work, error);
}

/* ---- start and stop --------------------------------------------------------------------------------------------- */

static void start_python(work_t *work)
{
    (void)work;
    mp_init();
}

bool interpreter_start(const interpreter_options *given, interpreter_error *error)
{
    if (running) {
        return refuse(error, "RuntimeError", "an interpreter is running already: stop it first");
    }
    if (!given->heap || given->heap_bytes < LEAST_HEAP) {
        return refuse(error, "ValueError", "the heap is too small: give at least 8192 bytes");
    }
    if (given->stack_bytes && given->stack_bytes < LEAST_STACK) {
        return refuse(error, "ValueError", "stack_bytes is too small: give at least 4096, or 0 for 49152");
    }
    options = *given;
    options.stack_bytes = given->stack_bytes ? given->stack_bytes : DEFAULT_STACK;
    files_are(given->files, given->file_count);
    memset(&mp_state_ctx, 0, sizeof(mp_state_ctx)); /* whatever an earlier one has left */
    gc_init(given->heap, (uint8_t *)given->heap + given->heap_bytes);
    work_t work = {0};
    running = true;
    running = run(start_python, &work, error);
    return running;
}

static void stop_python(work_t *work)
{
    (void)work;
    gc_sweep_all(); /* runs finalisers */
    mp_deinit();
}

void interpreter_stop(void)
{
    work_t work = {0};
    if (running && !busy) {
        run(stop_python, &work, NULL);
        running = false;
    }
}

bool interpreter_is_running(void) { return running; }

/* ---- values out of C -------------------------------------------------------------------------------------------- */

static void do_copy(work_t *work) { hold(object_of(work->object), work->result); }

bool interpreter_copy(interpreter_value value, interpreter_value *copy, interpreter_error *error)
{
    work_t work = {.object = value};
    return make(do_copy, &work, copy, error);
}

static void do_constant(work_t *work) { hold((mp_obj_t)work->in, work->result); }

bool interpreter_none(interpreter_value *value, interpreter_error *error)
{
    work_t work = {.in = mp_const_none};
    return make(do_constant, &work, value, error);
}

bool interpreter_from_bool(bool number, interpreter_value *value, interpreter_error *error)
{
    work_t work = {.in = mp_obj_new_bool(number)};
    return make(do_constant, &work, value, error);
}

static void do_int(work_t *work)
{
    const mp_int_t small = (mp_int_t)work->whole;
    hold(small == work->whole ? mp_obj_new_int(small) : mp_obj_new_int_from_ll(work->whole), work->result);
}

bool interpreter_from_int(int64_t number, interpreter_value *value, interpreter_error *error)
{
    work_t work = {.whole = number};
    return make(do_int, &work, value, error);
}

static void do_float(work_t *work) { hold(mp_obj_new_float((mp_float_t)work->number), work->result); }

bool interpreter_from_float(double number, interpreter_value *value, interpreter_error *error)
{
    work_t work = {.number = number};
    return make(do_float, &work, value, error);
}

static void do_text(work_t *work) { hold(mp_obj_new_str_from_cstr(work->text), work->result); }

bool interpreter_from_text(const char *text, interpreter_value *value, interpreter_error *error)
{
    work_t work = {.text = text};
    return make(do_text, &work, value, error);
}

static void do_bytes(work_t *work) { hold(mp_obj_new_memoryview('B', work->count, (void *)work->in), work->result); }

bool interpreter_from_bytes(const void *data, size_t bytes, interpreter_value *value, interpreter_error *error)
{
    work_t work = {.in = data, .count = bytes};
    return make(do_bytes, &work, value, error);
}

static void do_list(work_t *work)
{
    mp_obj_list_t *list = MP_OBJ_TO_PTR(mp_obj_new_list(work->count, NULL));
    for (size_t k = 0; k < work->count; k++) {
        list->items[k] = mp_const_none;
    }
    for (size_t k = 0; k < work->count; k++) {
        list->items[k] = object_of(work->values[k]);
    }
    hold(MP_OBJ_FROM_PTR(list), work->result);
}

bool interpreter_from_list(
    size_t count, const interpreter_value *items, interpreter_value *value, interpreter_error *error)
{
    work_t work = {.count = count, .values = items};
    return make(do_list, &work, value, error);
}

/* ---- values into C ---------------------------------------------------------------------------------------------- */

/* A number, also out of a tensor that has one. */
static mp_obj_t number_of(interpreter_value value)
{
    const mp_obj_t object = object_of(value);
    if (pt_is_tensor(object)) {
        if (pt_numel(pt_tensor(object)) != 1) {
            mp_raise_ValueError(MP_ERROR_TEXT("only one element tensors can be converted to Python scalars"));
        }
        return pt_item(pt_tensor(object), 0);
    }
    return object;
}

static void do_to_bool(work_t *work) { *(bool *)work->out = mp_obj_is_true(object_of(work->object)); }

bool interpreter_to_bool(interpreter_value value, bool *number, interpreter_error *error)
{
    work_t work = {.object = value, .out = number};
    return run(do_to_bool, &work, error);
}

static void do_to_int(work_t *work)
{
    const mp_obj_t number = number_of(work->object);
    if (mp_obj_is_float(number)) {
        mp_raise_TypeError(MP_ERROR_TEXT("can't convert float to int"));
    }
    const int64_t whole = pt_int64(number);
    if (mp_obj_is_exact_type(number, &mp_type_int) && (whole < 0) != (mp_obj_int_sign(number) < 0)) {
        mp_raise_msg(&mp_type_OverflowError, MP_ERROR_TEXT("int too big to convert"));
    }
    *(int64_t *)work->out = whole;
}

bool interpreter_to_int(interpreter_value value, int64_t *number, interpreter_error *error)
{
    work_t work = {.object = value, .out = number};
    return run(do_to_int, &work, error);
}

static void do_to_float(work_t *work) { *(double *)work->out = (double)mp_obj_get_float(number_of(work->object)); }

bool interpreter_to_float(interpreter_value value, double *number, interpreter_error *error)
{
    work_t work = {.object = value, .out = number};
    return run(do_to_float, &work, error);
}

static void do_to_text(work_t *work)
{
    *(const char **)work->out = mp_obj_str_get_data(object_of(work->object), &work->count);
    if (!mp_obj_is_str(object_of(work->object))) { /* bytes */
        mp_raise_TypeError(MP_ERROR_TEXT("can't convert to str implicitly"));
    }
}

bool interpreter_to_text(interpreter_value value, const char **text, size_t *bytes, interpreter_error *error)
{
    work_t work = {.object = value, .out = text};
    const bool fine = run(do_to_text, &work, error);
    if (fine && bytes) {
        *bytes = work.count;
    }
    return fine;
}

/* ---- Python ----------------------------------------------------------------------------------------------------- */

static mp_obj_t execute(const char *source, mp_parse_input_kind_t kind)
{
    mp_lexer_t *lexer = mp_lexer_new_from_str_len(MP_QSTR__lt_string_gt_, source, strlen(source), 0);
    return mp_parse_compile_execute(lexer, kind, &MP_STATE_VM(dict_main), &MP_STATE_VM(dict_main));
}

static void do_exec(work_t *work) { execute(work->text, MP_PARSE_FILE_INPUT); }

bool interpreter_exec(const char *source, interpreter_error *error)
{
    work_t work = {.text = source};
    return run(do_exec, &work, error);
}

static void do_eval(work_t *work) { hold(execute(work->text, MP_PARSE_EVAL_INPUT), work->result); }

bool interpreter_eval(const char *expression, interpreter_value *value, interpreter_error *error)
{
    work_t work = {.text = expression};
    return make(do_eval, &work, value, error);
}

static void do_import(work_t *work)
{
    hold(mp_import_name(qstr_from_str(work->text), mp_const_empty_tuple, MP_OBJ_NEW_SMALL_INT(0)), work->result);
}

bool interpreter_import(const char *module, interpreter_value *value, interpreter_error *error)
{
    work_t work = {.text = module};
    return make(do_import, &work, value, error);
}

static void do_get(work_t *work) { hold(mp_load_global(qstr_from_str(work->text)), work->result); }

bool interpreter_get(const char *name, interpreter_value *value, interpreter_error *error)
{
    work_t work = {.text = name};
    return make(do_get, &work, value, error);
}

static void do_set(work_t *work) { mp_store_global(qstr_from_str(work->text), object_of(work->value)); }

bool interpreter_set(const char *name, interpreter_value value, interpreter_error *error)
{
    work_t work = {.text = name, .value = value};
    return run(do_set, &work, error);
}

static void do_get_attr(work_t *work)
{
    hold(mp_load_attr(object_of(work->object), qstr_from_str(work->text)), work->result);
}

bool interpreter_get_attr(
    interpreter_value object, const char *name, interpreter_value *value, interpreter_error *error)
{
    work_t work = {.object = object, .text = name};
    return make(do_get_attr, &work, value, error);
}

static void do_set_attr(work_t *work)
{
    mp_store_attr(object_of(work->object), qstr_from_str(work->text), object_of(work->value));
}

bool interpreter_set_attr(interpreter_value object, const char *name, interpreter_value value, interpreter_error *error)
{
    work_t work = {.object = object, .text = name, .value = value};
    return run(do_set_attr, &work, error);
}

static void do_get_item(work_t *work)
{
    hold(mp_obj_subscr(object_of(work->object), object_of(work->value), MP_OBJ_SENTINEL), work->result);
}

bool interpreter_get_item(
    interpreter_value object, interpreter_value key, interpreter_value *value, interpreter_error *error)
{
    work_t work = {.object = object, .value = key};
    return make(do_get_item, &work, value, error);
}

static void do_length(work_t *work)
{
    *(size_t *)work->out = (size_t)mp_obj_get_int(mp_obj_len(object_of(work->object)));
}

bool interpreter_length(interpreter_value object, size_t *length, interpreter_error *error)
{
    work_t work = {.object = object, .out = length};
    return run(do_length, &work, error);
}

/* The objects of some handles, in the heap: a call may have many. */
static mp_obj_t *objects_of(size_t count, const interpreter_value *values)
{
    mp_obj_t *objects = m_new0(mp_obj_t, count + 1);
    for (size_t k = 0; k < count; k++) {
        objects[k] = object_of(values[k]);
    }
    return objects;
}

static void do_call(work_t *work)
{
    mp_obj_t function = object_of(work->object);
    if (work->text) {
        function = mp_load_attr(function, qstr_from_str(work->text));
    }
    const mp_obj_t *arguments = objects_of(work->count, work->values);
    hold(mp_call_function_n_kw(function, work->count, 0, arguments), work->result);
}

bool interpreter_call(interpreter_value function, size_t count, const interpreter_value *arguments,
    interpreter_value *result, interpreter_error *error)
{
    work_t work = {.object = function, .count = count, .values = arguments};
    return make(do_call, &work, result, error);
}

bool interpreter_call_method(interpreter_value object, const char *name, size_t count,
    const interpreter_value *arguments, interpreter_value *result, interpreter_error *error)
{
    work_t work = {.object = object, .text = name, .count = count, .values = arguments};
    return make(do_call, &work, result, error);
}

static void do_load(work_t *work)
{
    const mp_obj_t torch = mp_import_name(MP_QSTR_torch, mp_const_none, MP_OBJ_NEW_SMALL_INT(0));
    const mp_obj_t load =
        mp_load_attr(files_have_script(work->text) ? mp_load_attr(torch, MP_QSTR_jit) : torch, MP_QSTR_load);
    hold(mp_call_function_1(load, mp_obj_new_str_from_cstr(work->text)), work->result);
}

bool interpreter_load(const char *file, interpreter_value *value, interpreter_error *error)
{
    work_t work = {.text = file};
    return make(do_load, &work, value, error);
}

static void do_collect(work_t *work)
{
    gc_collect();
    gc_info((gc_info_t *)work->out);
}

bool interpreter_collect(size_t *used, size_t *free, interpreter_error *error)
{
    gc_info_t info;
    work_t work = {.out = &info};
    const bool fine = run(do_collect, &work, error);
    if (fine) {
        *used = info.used;
        *free = info.free;
    }
    return fine;
}

/* ---- tensors ---------------------------------------------------------------------------------------------------- */

static void do_from_tensor(work_t *work)
{
    const interpreter_tensor *given = work->in;
    if ((unsigned)given->dtype >= PT_DTYPES || given->ndim < 0 || given->ndim > PT_MAX_DIMS) {
        mp_raise_ValueError(MP_ERROR_TEXT("a tensor of that type or number of dimensions is not possible"));
    }
    const int size = pt_size((int)given->dtype);
    int64_t bytes = size;
    for (int d = 0; d < given->ndim; d++) {
        if (given->sizes[d] < 0 || (given->sizes[d] && bytes > INT32_MAX / given->sizes[d])) {
            mp_raise_ValueError(MP_ERROR_TEXT("a tensor of these sizes is not possible"));
        }
        bytes *= given->sizes[d];
    }
    if (bytes && (!given->data || (uintptr_t)given->data % (uintptr_t)size != 0)) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("elements must be at a multiple of %d bytes"), size);
    }
    pt_tensor_t *t = pt_borrow(
        MP_OBJ_FROM_PTR(given->data), given->data, (uint32_t)bytes, (int)given->dtype, given->ndim, given->sizes);
    t->read_only = given->read_only;
    hold(MP_OBJ_FROM_PTR(t), work->result);
}

bool interpreter_from_tensor(const interpreter_tensor *tensor, interpreter_value *value, interpreter_error *error)
{
    work_t work = {.in = tensor};
    return make(do_from_tensor, &work, value, error);
}

static pt_tensor_t *tensor_of(interpreter_value value)
{
    const mp_obj_t object = object_of(value);
    if (!pt_is_tensor(object)) {
        mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("expected a tensor, got %s"), mp_obj_get_type_str(object));
    }
    return pt_tensor(object);
}

static void do_to_tensor(work_t *work)
{
    interpreter_tensor *to = work->out;
    pt_tensor_t *t = tensor_of(work->object);
    memset(to, 0, sizeof(*to));
    to->data = t->data;
    to->dtype = (interpreter_dtype)t->dtype;
    to->read_only = t->read_only;
    to->ndim = t->ndim;
    memcpy(to->sizes, pt_sizes(t), t->ndim * sizeof(int32_t));
    memcpy(to->strides, pt_strides(t), t->ndim * sizeof(int32_t));
}

bool interpreter_to_tensor(interpreter_value value, interpreter_tensor *tensor, interpreter_error *error)
{
    work_t work = {.object = value, .out = tensor};
    return run(do_to_tensor, &work, error);
}

static void do_elements(work_t *work)
{
    pt_tensor_t *t = tensor_of(work->object);
    if (t->dtype != work->whole) {
        if ((uint64_t)work->whole >= PT_DTYPES) {
            mp_raise_ValueError(MP_ERROR_TEXT("there is no such type of elements"));
        }
        mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("expected a tensor of %q, got one of %q"),
            pt_dtypes[work->whole].name, pt_dtypes[t->dtype].name);
    }
    if (!pt_is_contiguous(t)) {
        mp_raise_ValueError(MP_ERROR_TEXT("expected a contiguous tensor: call contiguous()"));
    }
    if ((size_t)pt_numel(t) != work->count) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("expected a tensor with %d elements, got one with %d"),
            (int)work->count, (int)pt_numel(t));
    }
    *(void **)work->out = t->data;
}

bool interpreter_elements(
    interpreter_value value, interpreter_dtype dtype, size_t count, void **data, interpreter_error *error)
{
    work_t work = {.object = value, .whole = (int64_t)dtype, .count = count, .out = data};
    return run(do_elements, &work, error);
}

/* ---- what MicroPython needs of its port ------------------------------------------------------------------------- */

void gc_collect(void)
{
    gc_collect_start();
    gc_helper_collect_regs_and_stack();
    gc_collect_end();
}

void nlr_jump_fail(void *exception) /* not reached: every call into Python catches */
{
    (void)exception;
    for (;;) {
    }
}

void mp_hal_stdout_tx_strn_cooked(const char *text, size_t bytes)
{
    if (options.print) {
        options.print(options.context, text, bytes);
    }
}

mp_uint_t mp_hal_stdout_tx_strn(const char *text, size_t bytes)
{
    mp_hal_stdout_tx_strn_cooked(text, bytes);
    return bytes;
}

uintptr_t mp_hal_stdio_poll(uintptr_t flags) { return flags & MP_STREAM_POLL_WR; }

int mp_hal_stdin_rx_chr(void) { mp_raise_OSError(MP_EIO); }
