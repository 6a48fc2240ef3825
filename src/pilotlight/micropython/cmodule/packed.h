/* Names that C does not know: operators that are written in Python. */
#ifndef PT_PACKED_H
#define PT_PACKED_H

#include "tensor.h"

#if PT_STREAM
/* The operator as a function of torch ('f') or of its parts ('n'), or as a method ('m') of `self`. */
void pt_find_packed(qstr name, char form, mp_obj_t self, mp_obj_t *dest);
/* The result of a packed function; MP_OBJ_NULL if it is not in this build. */
mp_obj_t pt_call_packed(qstr name, size_t n, size_t keywords, const mp_obj_t *args);
extern const mp_obj_fun_builtin_var_t pt_check_obj, pt_into_obj;
extern const mp_obj_fun_builtin_fixed_t pt_named_obj, pt_block_obj, pt_open_obj, pt_unit_obj, pt_run_obj;
/* generated/packed.c */
extern const uint16_t pt_salt, pt_units, pt_unit_hashes[], pt_first_units[], pt_block_sizes[];
extern const uint32_t pt_block_starts[];
extern const uint8_t pt_blocks[];
#else
static inline void pt_find_packed(qstr name, char form, mp_obj_t self, mp_obj_t *dest)
{
    (void)name, (void)form, (void)self, (void)dest;
}
static inline mp_obj_t pt_call_packed(qstr name, size_t n, size_t keywords, const mp_obj_t *args)
{
    (void)name, (void)n, (void)keywords, (void)args;
    return MP_OBJ_NULL;
}
#endif

#endif
