/* Included before MicroPython's objstr.c, whose str.format then shows tensors as Tensor.__format__ does: the number of
 * one without dimensions, before a format is applied (it checks the stack first) and where `{}` stands alone. */
#ifndef PT_FORMAT_H
#define PT_FORMAT_H

#include "py/obj.h"
#if __has_include("py/cstack.h")
#include "py/cstack.h"
#else /* before MicroPython 1.25 */
#include "py/stackctrl.h"
#endif

mp_obj_t pt_formatted(mp_obj_t o, bool by_text);
enum { conversion, format_spec }; /* elsewhere than in str.format, which has variables of these names */
#define mp_cstack_check() (mp_cstack_check(), (void)(arg = pt_formatted(arg, true)))
#define mp_stack_check() (mp_stack_check(), (void)(arg = pt_formatted(arg, true)))
#define mp_obj_print_helper(print, o, kind) \
    mp_obj_print_helper(print, conversion == 's' && !format_spec ? pt_formatted(o, false) : (o), kind)

#endif
