/* Errors with texts of the packed stream, which are unpacked only where somebody reads them. */
#include "texts.h"

#if PT_STREAM
#include <stdarg.h>

typedef struct {
    mp_obj_base_t base;
    uint16_t number, count;
    mp_obj_t values[]; /* what stands in the text */
} pt_text_t;

/* A code has the type of the error in 3 bits, the number of the text in 13, and what stands in it, two bits each. */
enum { NUMBER = 1, STRING, NAME };
static const mp_obj_type_t *const error_types[] = {
    &mp_type_RuntimeError, &mp_type_TypeError, &mp_type_ValueError, &mp_type_IndexError, &mp_type_NotImplementedError
};

static void text_print(const mp_print_t *print, mp_obj_t self, mp_print_kind_t kind)
{
    const pt_text_t *t = MP_OBJ_TO_PTR(self);
    nlr_buf_t nlr;
    if (nlr_push(&nlr) == 0) {
        const mp_obj_t torch = mp_import_name(MP_QSTR_torch, mp_const_none, MP_OBJ_NEW_SMALL_INT(0));
        const mp_obj_t find = mp_load_attr(mp_load_attr(torch, MP_QSTR__packed), MP_QSTR_text);
        mp_obj_t text = mp_call_function_1(find, MP_OBJ_NEW_SMALL_INT(t->number));
        if (t->count) {
            text = mp_binary_op(MP_BINARY_OP_MODULO, text, mp_obj_new_tuple(t->count, t->values));
        }
        mp_obj_print_helper(print, text, kind);
        nlr_pop();
    } else { /* there is no memory to unpack it */
        mp_printf(print, "%d", (int)t->number);
    }
}

static MP_DEFINE_CONST_OBJ_TYPE(text_type, MP_QSTR_text, MP_TYPE_FLAG_NONE, print, text_print);

static NORETURN void raise(const mp_obj_type_t *type, uint32_t code, va_list more)
{
    const uint32_t number = code >> 16 & 0x1fff;
    mp_obj_t values[8];
    uint16_t count = 0;
    if (!number) {
        nlr_raise(mp_obj_new_exception(type));
    }
    for (uint32_t kinds = code & 0xffff; kinds; kinds >>= 2) {
        const char *string;
        switch (kinds & 3) {
            case NUMBER:
                values[count++] = mp_obj_new_int(va_arg(more, int));
                break;
            case STRING:
                string = va_arg(more, const char *);
                values[count++] = mp_obj_new_str(string, strlen(string));
                break;
            default:
                values[count++] = MP_OBJ_NEW_QSTR(va_arg(more, qstr));
        }
    }
    pt_text_t *t = mp_obj_malloc_var(pt_text_t, values, mp_obj_t, count, &text_type);
    t->number = (uint16_t)number;
    t->count = count;
    memcpy(t->values, values, count * sizeof(mp_obj_t));
    nlr_raise(mp_obj_new_exception_arg1(type, MP_OBJ_FROM_PTR(t)));
}

NORETURN void pt_raise(const mp_obj_type_t *type, mp_rom_error_text_t text, ...)
{
    va_list more;
    va_start(more, text);
    raise(type, (uint32_t)(uintptr_t)text, more);
}

NORETURN void pt_raise_text(mp_rom_error_text_t text, ...)
{
    const uint32_t code = (uint32_t)(uintptr_t)text;
    va_list more;
    va_start(more, text);
    raise(error_types[code >> 29], code, more);
}
#endif
