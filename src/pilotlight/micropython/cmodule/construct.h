/* Tensors from Python's data. */
#ifndef PT_CONSTRUCT_H
#define PT_CONSTRUCT_H

#include "tensor.h"

/* The length of a list, tuple, range, array, or of another object with items; false for anything else. */
bool pt_length(mp_obj_t o, size_t *length);
/* A new tensor from nested sequences, numbers or a tensor; dtype -1: what PyTorch infers. */
pt_tensor_t *pt_from_data(mp_obj_t data, int dtype);
/* One number, or a tensor of one element, with PyTorch's errors for what does not fit; these name the type with a suffix
 * that depends on where they come from. */
void pt_store_number(mp_obj_t number, int dtype, uint8_t *to, const char *suffix);
void pt_require_grad(pt_tensor_t *t, bool wanted);      /* of a new tensor */
void pt_set_requires_grad(pt_tensor_t *t, bool wanted); /* of one that exists: another error */

mp_obj_t pt_tensor_make(const mp_obj_type_t *type, size_t n, size_t n_kw, const mp_obj_t *args);
mp_obj_t pt_parameter_make(const mp_obj_type_t *type, size_t n, size_t n_kw, const mp_obj_t *args);

#endif
