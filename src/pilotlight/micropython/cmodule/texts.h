/* Errors whose texts are in the packed stream, by their numbers; without one they are MicroPython's. */
#ifndef PT_TEXTS_H
#define PT_TEXTS_H

#include "py/runtime.h"

#include "generated/stream.h"

#if PT_STREAM
#define PT_ERROR(code, text) ((mp_rom_error_text_t)(uintptr_t)(code))
#define mp_raise_msg(type, text) pt_raise(type, text)
#define mp_raise_msg_varg(type, ...) pt_raise(type, __VA_ARGS__)
#define mp_raise_TypeError(text) pt_raise(&mp_type_TypeError, text)
#define mp_raise_ValueError(text) pt_raise(&mp_type_ValueError, text)
#define mp_raise_NotImplementedError(text) pt_raise(&mp_type_NotImplementedError, text)
NORETURN void pt_raise(const mp_obj_type_t *type, mp_rom_error_text_t text, ...);
NORETURN void pt_raise_text(mp_rom_error_text_t text, ...); /* an error of the type that the code says */
#endif

#endif
