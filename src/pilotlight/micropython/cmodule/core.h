/* What MicroPython's core calls for objects that may be tensors. micropython.mk and micropython.cmake say which of its
 * files call these instead of the functions of the core that they are made of. */
#ifndef PT_CORE_H
#define PT_CORE_H

#include "tensor.h"

/* mp_binary_op where the core takes the result of a comparison for True or False and nothing else: sorting, max, min,
 * heaps and comparisons of sequences. As in CPython it is the truth of the result that counts. */
mp_obj_t pt_compare(mp_binary_op_t op, mp_obj_t left, mp_obj_t right);
/* mp_binary_op of a running program: a number on the left of a tensor. MicroPython turns no comparisons around, and takes
 * True for 1. */
mp_obj_t pt_operate(mp_binary_op_t op, mp_obj_t left, mp_obj_t right);
/* Where a tensor is an operand it is no number, nor the text of one for float(). */
bool pt_float_maybe(mp_obj_t o, mp_float_t *value);
bool pt_complex_maybe(mp_obj_t o, mp_float_t *real, mp_float_t *imaginary);
bool pt_text_buffer(mp_obj_t o, mp_buffer_info_t *info, mp_uint_t flags);
/* What str.format shows for an object; `by_text`: with a format after a colon. */
mp_obj_t pt_formatted(mp_obj_t o, bool by_text);
/* mp_obj_equal of items of containers: an object is the same as itself, whatever == says. */
bool pt_same_item(mp_obj_t a, mp_obj_t b);
/* mp_obj_equal of keys: two tensors have different hashes, so they are different keys. */
bool pt_same_key(mp_obj_t a, mp_obj_t b);
/* mp_obj_print for help(): shows what an operator takes. */
void pt_describe(mp_obj_t o, mp_print_kind_t kind);

#endif
