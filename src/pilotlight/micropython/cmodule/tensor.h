/* Tensors of the MicroPython module: what all its files share. */
#ifndef PT_TENSOR_H
#define PT_TENSOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "py/obj.h"
#include "py/objint.h"
#include "py/objtuple.h"
#include "py/runtime.h"

#include "generated/stream.h"

/* ---- element types --------------------------------------------------------------------------------- */

/* In the order of promotion inside a kind; the numbers are indices of pt_dtypes. */
typedef enum {
    PT_BOOL,
    PT_UINT8,
    PT_INT8,
    PT_INT16,
    PT_INT32,
    PT_INT64,
    PT_FLOAT16,
    PT_BFLOAT16,
    PT_FLOAT32,
    PT_DTYPES
} pt_dtype_t;

typedef struct {
    mp_obj_base_t base;
    uint16_t name;    /* a qstr: MP_QSTR_float32 */
    uint8_t size;     /* bytes of an element */
    char code;        /* of the buffer protocol */
    const char *type; /* in errors: "Float" */
} pt_dtype_obj_t;

/* PT_BUILT, a bit a type: those that a build has. Types of indices (int32, int64), bool and float32 are in every build;
 * PT_INTEGERS: it computes with integers as well. */
#define PT_HAS(dtype) (PT_BUILT >> (dtype) & 1)
#define PT_LIMITED (PT_BUILT + 1 < 1 << PT_DTYPES)

extern const mp_obj_type_t pt_dtype_type;
extern const pt_dtype_obj_t pt_dtypes[PT_DTYPES];

static inline bool pt_is_float(int dtype) { return dtype >= PT_FLOAT16; }
static inline int pt_size(int dtype) { return pt_dtypes[dtype].size; }
static inline int pt_compute(int dtype) { return pt_is_float(dtype) ? PT_FLOAT32 : PT_INT64; }
int pt_promote(int a, int b);
int pt_dtype_of(mp_obj_t o); /* of a dtype, or of Python's float, int and bool; -1 for anything else */

/* ---- tensors --------------------------------------------------------------------------------------- */

#define PT_MAX_DIMS 8

/* The garbage collector keeps a block alive only for pointers to its start. Hence a tensor knows the block of its
 * elements as well as its first element, and the elements begin where the block does: a memoryview keeps them too. */
typedef struct {
    mp_obj_base_t base; /* pt_tensor_type or pt_parameter_type */
    void *owner;        /* the block of the elements, or the object that lends them (frombuffer): one for all views */
    uint8_t *start;     /* of the memory that the views share, and its size */
    uint32_t bytes;
    uint8_t dtype, ndim;
    bool requires_grad; /* stored but never used: there is no autograd */
    bool read_only;     /* lent by bytes or by flash memory */
    uint8_t *data;      /* the first element */
    int32_t *dims;      /* sizes (ndim), then strides in elements (ndim): in `own`, or in a block of their own */
    int32_t own[];
} pt_tensor_t;

extern const mp_obj_type_t pt_tensor_type, pt_parameter_type;

static inline int32_t *pt_sizes(pt_tensor_t *t) { return t->dims; }
static inline int32_t *pt_strides(pt_tensor_t *t) { return t->dims + t->ndim; }
/* Inlined on hosts, for speed. */
static inline bool pt_is_tensor_here(mp_obj_t o)
{
    if (!mp_obj_is_obj(o)) {
        return false;
    }
    const mp_obj_type_t *type = ((mp_obj_base_t *)MP_OBJ_TO_PTR(o))->type;
    return type == &pt_tensor_type || type == &pt_parameter_type;
}
#if UINTPTR_MAX > 0xffffffffu
#define pt_is_tensor pt_is_tensor_here
#else
bool pt_is_tensor(mp_obj_t o);
#endif
static inline pt_tensor_t *pt_tensor(mp_obj_t o) { return (pt_tensor_t *)MP_OBJ_TO_PTR(o); }

int32_t pt_numel(const pt_tensor_t *t);
bool pt_is_contiguous(const pt_tensor_t *t);
NORETURN void pt_no_dtype(int dtype);
static inline void pt_check_built(int dtype) /* raises if the build is without a type */
{
    if (PT_LIMITED && !PT_HAS(dtype)) {
        pt_no_dtype(dtype);
    }
}
/* A new tensor with its own memory, not initialised. */
pt_tensor_t *pt_new(int dtype, int ndim, const int32_t *sizes);
pt_tensor_t *pt_new_like(const pt_tensor_t *t, int dtype);
pt_tensor_t *pt_new_as(const pt_tensor_t *t, int dtype); /* with its strides too, if it lies in one piece */
/* A tensor over the bytes of an object; its first element is at `data`. */
pt_tensor_t *pt_borrow(mp_obj_t owner, uint8_t *data, uint32_t bytes, int dtype, int ndim, const int32_t *sizes);
/* `t` gets the memory, type and shape that `as` has, with any number of dimensions. */
void pt_become(pt_tensor_t *t, const pt_tensor_t *as);
void pt_check_writable(const pt_tensor_t *t);
static inline int32_t pt_offset(const pt_tensor_t *t) /* of the first element in the storage, in elements */
{
    return (int32_t)(t->data - t->start) / pt_size(t->dtype);
}
/* A view of the same bytes: `strides` may be NULL for contiguous ones, `offset` is in elements. */
pt_tensor_t *pt_view(const pt_tensor_t *t, int ndim, const int32_t *sizes, const int32_t *strides, int32_t offset);
/* The tensor itself if it has that type and is contiguous, else a copy that is. */
pt_tensor_t *pt_contiguous(pt_tensor_t *t, int dtype);
/* Copies with conversion; the shape of `from` must broadcast to that of `to`. */
void pt_copy_into(pt_tensor_t *to, pt_tensor_t *from);
/* A tensor without dimensions from a Python number, of the type PyTorch gives it. */
pt_tensor_t *pt_from_number(mp_obj_t number, int dtype);
void pt_fill(pt_tensor_t *t, mp_obj_t value);
mp_obj_t pt_item(const pt_tensor_t *t, int32_t offset); /* the element as a Python number */
int pt_number_dtype(mp_obj_t number);                   /* bool, int64 or float32; -1 for anything else */
int64_t pt_int64(mp_obj_t number);                      /* of an int or a bool; raises OverflowError */
/* A tensor without dimensions on the stack, with the value of a number: `t` and `value` must outlive its use. */
pt_tensor_t *pt_scalar(pt_tensor_t *t, int64_t *value, mp_obj_t number, int dtype);

/* ---- other types ------------------------------------------------------------------------------------ */

extern const mp_obj_type_t pt_size_type, pt_device_type;
extern const mp_obj_base_t pt_cpu;
typedef struct {
    mp_obj_base_t base;
    uint16_t name;
} pt_constant_t; /* torch.strided and the like */
extern const pt_constant_t pt_strided, pt_contiguous_format, pt_preserve_format;

mp_obj_t pt_size_tuple(int count, const int32_t *values); /* torch.Size */
bool pt_is_device(mp_obj_t o);                            /* raises for a device that does not exist */
/* The items of a list, a tuple, a Size or a result with names; false for anything else. */
bool pt_sequence(mp_obj_t o, size_t *count, mp_obj_t **items);
/* torch.return_types.max(values=..., indices=...): constant qstrs {MP_QSTR_max, MP_QSTR_values, MP_QSTR_indices}. */
mp_obj_t pt_named(const uint16_t *names, int count, const mp_obj_t *objects);

/* ---- rows of elements as the compute type ------------------------------------------------------------ */

#define PT_CHUNK 64 /* elements that are converted at a time */

typedef union {
    float f[PT_CHUNK];
    int64_t i[PT_CHUNK];
} pt_chunk_t;

/* n elements, `step` elements apart, as float32 or int64 (a chunk, or any n of them), and back; storing wraps around
 * as PyTorch does. */
void pt_load(const uint8_t *data, int dtype, int32_t step, int compute, void *to, int n);
void pt_store(uint8_t *data, int dtype, int32_t step, int compute, const void *from, int n);

/* Walks tensors of one broadcast shape, the last dimension as a run: `while (pt_next(&w)) use w.data[k]`. */
#define PT_OPERANDS 4
#define PT_NUMBERS 3 /* after the operands of a row */
typedef struct {
    int ndim, count;
    int32_t sizes[PT_MAX_DIMS], at[PT_MAX_DIMS];
    int32_t steps[PT_OPERANDS][PT_MAX_DIMS]; /* in elements; 0 where an operand is broadcast */
    uint8_t *data[PT_OPERANDS];
    uint8_t width[PT_OPERANDS]; /* bytes of an element */
    int32_t run;                /* elements of the innermost run */
    bool started;
} pt_walk_t;

/* Operand 0 has the full shape; dimensions that lie one after the other for all operands become one. */
void pt_walk(pt_walk_t *w, int count, pt_tensor_t *const *operands);
bool pt_next(pt_walk_t *w);
/* The broadcast shape of some tensors; raises PyTorch's RuntimeError. Returns the number of dimensions. */
int pt_broadcast(int count, pt_tensor_t *const *operands, int32_t *sizes);

/* ---- Tensor as Python sees it -------------------------------------------------------------------------- */

void pt_print(const mp_print_t *print, mp_obj_t self, mp_print_kind_t kind);

/* ---- calls by schema --------------------------------------------------------------------------------- */

enum {
    PT_ARG_TENSOR,
    PT_ARG_SCALAR,
    PT_ARG_INT,
    PT_ARG_FLOAT,
    PT_ARG_BOOL,
    PT_ARG_INTS,
    PT_ARG_TENSORS,
    PT_ARG_FLOATS,
    PT_ARG_DTYPE,
    PT_ARG_STR,
    PT_ARG_DEVICE,
    PT_ARG_IGNORED
};
enum { PT_OPTIONAL = 1, PT_HAS_DEFAULT = 2, PT_FLOAT_DEFAULT = 4, PT_NONE_DEFAULT = 8, PT_NUMBER = 16, PT_GAPS = 32 };

/* What parameters with different names may share. */
typedef struct {
    uint8_t type, flags;
    uint8_t length; /* of int[2]: a single number stands for that many; of Tensor[]: 1 if they may come one by one */
    union {
        int32_t i;
        float f;
    } value; /* the default */
} pt_kind_t;

typedef struct {
    uint8_t name; /* an index of pt_names */
    uint8_t kind; /* an index of pt_kinds */
} pt_param_t;

struct _pt_call_t;
typedef mp_obj_t (*pt_kernel_t)(struct _pt_call_t *c);

/* `params`: the first one in pt_params; `outs`: tensors that out= takes; `function`: not a method only; `method`: not a
 * function only; `self_second`: of where(condition, self, ...), as a method self comes first. */
#define PT_SIGNATURE \
    uint32_t params : 11, count : 5, positional : 5, outs : 2, function : 1, method : 1, self_second : 1
typedef struct {
    PT_SIGNATURE;
} pt_signature_t;

/* An overload in the tables: indices of pt_kernels, pt_rows (or just a number) and pt_signatures. */
typedef struct {
    uint32_t kernel : 9, data : 8, row : 1, signature : 10, last : 1; /* the last of its operator's */
} pt_entry_t;

struct _pt_pointwise_t;
typedef struct {
    pt_kernel_t kernel;
    union {
        const struct _pt_pointwise_t *row;
        uintptr_t number;
    } data; /* what distinguishes kernels of one function */
    union {
        pt_signature_t signature;
        struct {
            PT_SIGNATURE;
        };
    };
} pt_overload_t;

/* An operator: the overloads that PyTorch has. One that is a function and a method is called as a function. */
typedef struct {
    uint16_t name;
    uint16_t first : 10; /* of its overloads in pt_overloads */
    uint16_t quick : 1;  /* the first one is a row of tensors, whatever else it takes */
    uint16_t in_place : 1;
    uint16_t method_ : 1;   /* there is a method `name_` that does the same in place */
    uint16_t function_ : 1; /* and a function */
    uint16_t function : 1, method : 1;
} pt_op_t;

extern const pt_kind_t pt_kinds[];
extern const uint16_t pt_names[];
extern const pt_param_t pt_params[];
extern const pt_signature_t pt_signatures[];
extern const pt_kernel_t pt_kernels[];
extern const struct _pt_pointwise_t *const pt_rows[];
extern const pt_entry_t pt_overloads[];
extern const pt_op_t pt_ops[];
static inline qstr pt_param_name(const pt_overload_t *o, int k) { return pt_names[pt_params[o->params + k].name]; }

typedef struct {
    bool given;     /* false: None */
    uint16_t count; /* of a list */
    mp_obj_t object;
    union {
        pt_tensor_t *tensor;
        int64_t i;
        mp_float_t f;
        const int32_t *ints;
        const mp_obj_t *objects;
        int dtype;
    } v;
} pt_arg_t;

#define PT_ARGS 16
#define PT_INTS 32
#define PT_OUTS 3

typedef struct _pt_call_t {
    const pt_op_t *op;
    const pt_overload_t *overload;
    pt_tensor_t *out;               /* out=, or what an in-place operator changes; NULL: a new tensor */
    pt_tensor_t *more[PT_OUTS - 1]; /* the others of out=(values, indices); set where `out` is */
    bool in_place, requires_grad;
    uint8_t laps; /* PT_APART and following */
    int ints_used;
    int32_t ints[PT_INTS];
    pt_arg_t args[PT_ARGS];
} pt_call_t;

/* The tensor that a kernel writes: out= resized, self checked, or a new one. */
pt_tensor_t *pt_result(pt_call_t *c, int dtype, int ndim, const int32_t *sizes);
pt_tensor_t *pt_result_at(pt_call_t *c, int k, int dtype, int ndim, const int32_t *sizes); /* of several results */
/* What of the memory of results PyTorch minds: that they lie over an argument, or over themselves (an expanded tensor);
 * themselves only, since the arguments have been read; nothing. pt_result looks at out= and at what changes in place. */
enum { PT_APART, PT_READ, PT_ANYWHERE };
/* PyTorch's RuntimeErrors. Element by element over what is read is fine, but with `apart`; what lies neither so nor in
 * one piece is not looked into. */
void pt_check_itself(const pt_tensor_t *written);
void pt_check_overlap(const pt_tensor_t *written, const pt_tensor_t *read, bool apart);
void pt_check_arguments(const pt_tensor_t *written, mp_obj_t o, bool apart); /* of a tensor, or of all in a list */
/* Argument k, or a copy of it where a result will be written to its memory: from here on arguments count as read. */
pt_tensor_t *pt_unwritten(pt_call_t *c, int k);
int pt_dim(pt_call_t *c, int64_t dim, int ndim); /* made non-negative, or raises PyTorch's IndexError */

/* ---- pointwise operators made from rows ------------------------------------------------------------------ */

/* On hosts every row is a loop, so that it is vectorized. On boards one loop calls those of integers, which get the
 * elements and numbers at v, and the functions of one float, element by element. */
#if defined(__x86_64__) || defined(__aarch64__)
#define PT_LOOPS 1
#else
#define PT_LOOPS 0
#endif
typedef void (*pt_row_t)(const void *const *x, void *y, int n);
#if PT_LOOPS
typedef pt_row_t pt_integers_t;
#else
typedef int64_t (*pt_integers_t)(const int64_t *v);
#endif
int64_t pt_nonzero(int64_t divisor);          /* or PyTorch's error */
enum { PT_SAME, PT_TO_BOOL };                 /* what a row gives */
enum { PT_IN_SAME, PT_IN_FLOAT, PT_IN_BOOL }; /* what its operands become first */
/* What PyTorch does not compute: bool, integers; integers by zero. PT_WIDE: numbers are not rounded to a half first.
 * PT_ONE: a function of one float instead of a loop. */
enum { PT_NO_BOOL = 1, PT_NO_INTS = 2, PT_NO_ZERO = 4, PT_WIDE = 8, PT_ONE = 16 };
typedef struct _pt_pointwise_t {
    union {
        pt_row_t row;
        float (*one)(float x);
    } f32; /* NULL where there is none */
    pt_integers_t i64;
    uint8_t arity;   /* tensors or numbers */
    uint8_t numbers; /* after them: numbers that every element sees */
    uint8_t result : 1, compute : 2, flags : 5;
} pt_pointwise_t;

mp_obj_t pt_pointwise(pt_call_t *c); /* overload->data is the row, its operands are the first arguments */
/* A row on tensors and numbers, with promotion and broadcasting; `c` says where the result goes. */
pt_tensor_t *pt_map(pt_call_t *c, const pt_pointwise_t *row, const mp_obj_t *operands);
void pt_check_fits(mp_obj_t number, int dtype);          /* raises if a number does not fit an integer type */
int pt_result_type(int count, const mp_obj_t *operands); /* PyTorch's promotion of tensors and numbers */
/* A row of one or two (or twice the same) tensors where nothing needs conversion; else MP_OBJ_NULL. */
mp_obj_t pt_quick(const pt_pointwise_t *row, bool in_place, pt_tensor_t *a, pt_tensor_t *b);
/* The same on tensors, from C; `out` may be NULL. */
pt_tensor_t *pt_apply(const pt_pointwise_t *row, int count, pt_tensor_t *const *operands, pt_tensor_t *out);

/* PyTorch's error of an operator that does not compute a type. */
NORETURN void pt_no_type(pt_call_t *c, int dtype);
NORETURN void pt_no_integers(pt_call_t *c);
static inline void pt_check_compute(pt_call_t *c, int compute) /* raises if a build does not compute with integers */
{
    if (!PT_INTEGERS && compute == PT_INT64) {
        pt_no_integers(c);
    }
}

/* Long loops call this regularly, so that Ctrl-C reaches them. */
static inline void pt_poll(void) { mp_handle_pending(true); }

#endif
