/* MicroPython with `import torch` inside a C or C++ program.
 *
 * One interpreter runs at a time. Nothing here allocates memory but from the heap that `interpreter_start` is given.
 * Functions that can fail return false and say why in `error`, which may be NULL. Call them from one thread at a time,
 * on any stack. Calls from inside `print` are not allowed. */
#ifndef INTERPRETER_H
#define INTERPRETER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What Python raised, or what was wrong with a call. Texts that are too long end early. */
typedef struct {
    char type[32];     /* "ValueError" */
    char message[224]; /* "mat1 and mat2 shapes cannot be multiplied (1x4 and 3x2)" */
    char file[48];     /* of the line that raised it, "" if unknown; "<string>" is the text of interpreter_exec */
    uint32_t line;
} interpreter_error;

/* A file in memory: Python can open and import it. Its memory is read where it is. */
typedef struct {
    const char *name; /* "net.pt", "package/module.py" */
    const void *data; /* of saved tensors at a multiple of 64 bytes: then they are used in place */
    size_t bytes;
} interpreter_file;

typedef struct {
    void *heap; /* for Python's objects; it must stay until interpreter_stop */
    size_t heap_bytes;
    size_t stack_bytes;            /* how much stack Python may use before it raises RuntimeError; 0: 48 KB */
    const interpreter_file *files; /* the array must stay, too */
    size_t file_count;
    void (*print)(void *context, const char *text, size_t bytes); /* what Python prints; may be NULL */
    void *context;
} interpreter_options;

bool interpreter_start(const interpreter_options *options, interpreter_error *error);
void interpreter_stop(void); /* handles of values end here; another start is possible */
bool interpreter_is_running(void);

/* ---- values ------------------------------------------------------------------------------------------------- */

/* A handle of a Python object, which lives until it is released. Zeros: none. */
typedef struct {
    uint32_t slot, generation;
} interpreter_value;

void interpreter_release(interpreter_value value); /* none, or one of a stopped interpreter, is fine */
bool interpreter_copy(interpreter_value value, interpreter_value *copy, interpreter_error *error);

bool interpreter_none(interpreter_value *value, interpreter_error *error);
bool interpreter_from_bool(bool number, interpreter_value *value, interpreter_error *error);
bool interpreter_from_int(int64_t number, interpreter_value *value, interpreter_error *error);
bool interpreter_from_float(double number, interpreter_value *value, interpreter_error *error); /* kept as float32 */
bool interpreter_from_text(const char *text, interpreter_value *value, interpreter_error *error);
/* A read-only memoryview of bytes, which must stay while Python uses it. */
bool interpreter_from_bytes(const void *data, size_t bytes, interpreter_value *value, interpreter_error *error);
/* A list of values. */
bool interpreter_from_list(
    size_t count, const interpreter_value *items, interpreter_value *value, interpreter_error *error);

/* Numbers out of numbers and out of tensors with one element; TypeError for anything else. */
bool interpreter_to_bool(interpreter_value value, bool *number, interpreter_error *error); /* Python's truth */
bool interpreter_to_int(interpreter_value value, int64_t *number, interpreter_error *error);
bool interpreter_to_float(interpreter_value value, double *number, interpreter_error *error);
/* The text of a str, with a zero at its end; it stays as long as the value is held. */
bool interpreter_to_text(interpreter_value value, const char **text, size_t *bytes, interpreter_error *error);
bool interpreter_is_none(interpreter_value value);

/* ---- Python ------------------------------------------------------------------------------------------------- */

bool interpreter_exec(const char *source, interpreter_error *error); /* in __main__ */
bool interpreter_eval(const char *expression, interpreter_value *value, interpreter_error *error);
bool interpreter_import(const char *module, interpreter_value *value, interpreter_error *error); /* "torch.nn" */
/* Names of __main__. */
bool interpreter_get(const char *name, interpreter_value *value, interpreter_error *error);
bool interpreter_set(const char *name, interpreter_value value, interpreter_error *error);
/* object.name */
bool interpreter_get_attr(
    interpreter_value object, const char *name, interpreter_value *value, interpreter_error *error);
bool interpreter_set_attr(
    interpreter_value object, const char *name, interpreter_value value, interpreter_error *error);
/* object[key] and len(object) */
bool interpreter_get_item(
    interpreter_value object, interpreter_value key, interpreter_value *value, interpreter_error *error);
bool interpreter_length(interpreter_value object, size_t *length, interpreter_error *error);
/* function(*arguments) */
bool interpreter_call(interpreter_value function, size_t count, const interpreter_value *arguments,
    interpreter_value *result, interpreter_error *error);
/* object.name(*arguments) */
bool interpreter_call_method(interpreter_value object, const char *name, size_t count,
    const interpreter_value *arguments, interpreter_value *result, interpreter_error *error);
/* torch.jit.load(file) if torch.jit.save wrote it, else torch.load(file): tensors are used where the file has them. */
bool interpreter_load(const char *file, interpreter_value *value, interpreter_error *error);
/* Collects what nothing refers to, and gives the bytes of the heap that are in use and free. */
bool interpreter_collect(size_t *used, size_t *free, interpreter_error *error);

/* ---- tensors ------------------------------------------------------------------------------------------------ */

typedef enum {
    INTERPRETER_BOOL,
    INTERPRETER_UINT8,
    INTERPRETER_INT8,
    INTERPRETER_INT16,
    INTERPRETER_INT32,
    INTERPRETER_INT64,
    INTERPRETER_FLOAT16,
    INTERPRETER_BFLOAT16,
    INTERPRETER_FLOAT32
} interpreter_dtype;

#define INTERPRETER_MAX_DIMS 8

typedef struct {
    void *data; /* the first element */
    interpreter_dtype dtype;
    bool read_only;
    int ndim;
    int32_t sizes[INTERPRETER_MAX_DIMS];
    int32_t strides[INTERPRETER_MAX_DIMS]; /* in elements */
} interpreter_tensor;

/* A torch tensor over memory of the program, without a copy: what either side writes, the other sees. The elements lie
 * one after the other (`strides` is not read) and must stay while Python uses the tensor. */
bool interpreter_from_tensor(const interpreter_tensor *tensor, interpreter_value *value, interpreter_error *error);
/* Where a torch tensor is, without a copy. Valid while the value is held and Python does not give the tensor other
 * memory (`resize_`, `out=` of another shape). */
bool interpreter_to_tensor(interpreter_value value, interpreter_tensor *tensor, interpreter_error *error);
/* The same for a contiguous tensor of that type and number of elements, which is what most programs want to check. */
bool interpreter_elements(
    interpreter_value value, interpreter_dtype dtype, size_t count, void **data, interpreter_error *error);

#ifdef __cplusplus
}
#endif

#endif
