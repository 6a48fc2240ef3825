/* What MicroPython lends to native code that it loads: the table of functions, and the few objects that are built by
 * hand. Version 6.3 of its .mpy files, which is MicroPython 1.23 and later; a change of it changes that number. */
#ifndef PL_MPY_H
#define PL_MPY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void *pl_object;
typedef size_t pl_name; /* a string that MicroPython keeps once: its number */

#define PL_NOTHING ((pl_object)0)
#define PL_SENTINEL ((pl_object)4)
#define PL_SMALL(n) ((pl_object)(intptr_t)((intptr_t)(n) * 2 + 1))

typedef struct {
    void *items;
    size_t bytes;
    int type; /* the letter of `array`, with the flag 0x80 in a memoryview that can be written */
} pl_buffer;

#define PL_READ 1u
#define PL_WRITE 2u
#define PL_OR_RAISE 4u
#define PL_BYTEARRAY 1 /* its letter */

typedef struct {
    void *to;
    void (*print)(void *to, const char *text, size_t bytes);
} pl_printer;

/* Keyword arguments of a call. */
typedef struct {
    size_t flags;
    size_t count;
    struct {
        pl_object key, value;
    } *table;
} pl_keywords;

#define PL_EQUAL 2 /* of binary_op */
#define PL_INT 2u  /* of from_object */
#define PL_NAME 8u /* of to_object */

/* By place: entries that nothing here uses are only counted. */
typedef struct {
    pl_object none, no, yes;
    uintptr_t (*from_object)(pl_object, uintptr_t kind);
    pl_object (*to_object)(uintptr_t, uintptr_t kind);
    void *(*swap_globals)(void *dict);
    void *at_6;
    pl_object (*load_global)(pl_name);
    void *at_8;
    pl_object (*load_attr)(pl_object, pl_name);
    void (*load_method)(pl_object, pl_name, pl_object *method_and_self);
    void *at_11[2];
    void (*store_global)(pl_name, pl_object);
    void *at_14;
    pl_object (*subscr)(pl_object, pl_object index, pl_object value);
    void *at_16[2];
    pl_object (*binary_op)(int, pl_object, pl_object);
    pl_object (*new_tuple)(size_t, const pl_object *);
    void *at_20[7];
    pl_object (*call)(pl_object, size_t arguments, const pl_object *);
    pl_object (*call_method)(size_t arguments, size_t keywords, const pl_object *method_self_arguments);
    void *at_29[5];
    void (*raise)(pl_object);
    pl_object (*import)(pl_name, pl_object from, pl_object level);
    void *at_36[3];
    void (*unpack)(pl_object sequence, size_t count, pl_object *last_first);
    void *at_40[10];
    void *(*memset)(void *, int, size_t);
    void *(*memmove)(void *, const void *, size_t);
    void *(*realloc)(void *, size_t, bool may_move);
    void *at_53;
    int (*vprintf)(const pl_printer *, const char *, va_list);
    void (*raise_text)(pl_object type, const char *);
    const void *(*type_of)(pl_object);
    pl_object (*new_str)(const char *, size_t);
    void *at_58;
    pl_object (*new_bytearray)(size_t, void *); /* of memory that stays where it is */
    void *at_60[4];
    void (*find_method)(pl_object, pl_name, pl_object *method_and_self);
    bool (*buffer)(pl_object, pl_buffer *, uintptr_t flags);
    void *at_66[7];
    const void *type_type, *type_str, *type_list;
    void *at_76[5];
    const void *type_function;
} pl_functions;

_Static_assert(offsetof(pl_functions, memset) == 50 * sizeof(void *), "the table of functions");
_Static_assert(offsetof(pl_functions, type_type) == 73 * sizeof(void *), "the table of functions");
_Static_assert(offsetof(pl_functions, type_function) == 81 * sizeof(void *), "the table of functions");

/* A type of objects, with the attributes that it computes and nothing else. */
typedef struct {
    const void *type;
    uint16_t flags, name;
    uint8_t make_new, print, call, unary, binary, attribute, subscr, iterate, buffer, protocol, parent, locals;
    void (*slots[1])(pl_object, pl_name, pl_object *);
} pl_type;

/* A function that takes `least` to `most` arguments: (count, arguments), and with keywords a pl_keywords * besides. */
typedef struct {
    const void *type;
    uint32_t signature;
    void (*call)(void);
} pl_function;

#define PL_SIGNATURE(least, most, keywords) ((uint32_t)(least) << 17 | (uint32_t)(most) << 1 | (uint32_t)(keywords))

/* The module as its import sees it. */
typedef struct {
    const void *type;
    void *globals;
} pl_imported;

typedef struct {
    const void *type;
    pl_imported *module;
} pl_import;

/* Names that have the same number everywhere. */
enum {
    PL_ImportError = 38,
    PL_MemoryError = 44,
    PL_RuntimeError = 50,
    PL_TypeError = 54,
    PL_ValueError = 55,
    PL_close = 71,
    PL_object = 117,
    PL_open = 118,
    PL_readinto = 126,
};

/* Filled in when the module is loaded: by address, and where a table of ours names a type. */
extern const pl_functions *const pl_table;
extern const uint16_t *const pl_names;
extern const char pl_type_type[], pl_type_function[];

#endif
