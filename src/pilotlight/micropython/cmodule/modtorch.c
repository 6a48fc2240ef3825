/* The module `_torch` and the type `Tensor`. */
#include "tensor.h"

#include "generated/tables.h"

/* ---- Tensor -------------------------------------------------------------------------------------------------- */

static void tensor_attr(mp_obj_t self, qstr name, mp_obj_t *dest)
{
    pt_tensor_t *t = pt_tensor(self);
    if (dest[0] != MP_OBJ_NULL) {
        if (name == MP_QSTR_requires_grad && dest[1] != MP_OBJ_NULL) {
            t->requires_grad = mp_obj_is_true(dest[1]);
            dest[0] = MP_OBJ_NULL;
        }
        return;
    }
    switch (name) {
        case MP_QSTR_shape:
            dest[0] = pt_size_tuple(t->ndim, t->dims);
            break;
        case MP_QSTR_dtype:
            dest[0] = MP_OBJ_FROM_PTR(&pt_dtypes[t->dtype]);
            break;
        case MP_QSTR_ndim:
            dest[0] = MP_OBJ_NEW_SMALL_INT(t->ndim);
            break;
        case MP_QSTR_requires_grad:
            dest[0] = mp_obj_new_bool(t->requires_grad);
            break;
        default:
            dest[1] = MP_OBJ_SENTINEL; /* look it up among the methods */
    }
}

static mp_obj_t tensor_item(mp_obj_t self)
{
    pt_tensor_t *t = pt_tensor(self);
    if (pt_numel(t) != 1) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("a Tensor with %d elements cannot be converted to Scalar"), (int)pt_numel(t));
    }
    return pt_item(t, 0);
}
static MP_DEFINE_CONST_FUN_OBJ_1(tensor_item_obj, tensor_item);

static const pt_op_t *const binary_ops[MP_BINARY_OP_NUM_RUNTIME] = {
    [MP_BINARY_OP_ADD] = PT_OP_add, [MP_BINARY_OP_SUBTRACT] = PT_OP_sub, [MP_BINARY_OP_MULTIPLY] = PT_OP_mul,
    [MP_BINARY_OP_TRUE_DIVIDE] = PT_OP_div, [MP_BINARY_OP_LESS] = PT_OP_lt, [MP_BINARY_OP_MORE] = PT_OP_gt,
    [MP_BINARY_OP_EQUAL] = PT_OP_eq, [MP_BINARY_OP_LESS_EQUAL] = PT_OP_le,
    [MP_BINARY_OP_MORE_EQUAL] = PT_OP_ge, [MP_BINARY_OP_NOT_EQUAL] = PT_OP_ne,
    [MP_BINARY_OP_INPLACE_ADD] = PT_OP_add_, [MP_BINARY_OP_INPLACE_SUBTRACT] = PT_OP_sub_,
    [MP_BINARY_OP_INPLACE_MULTIPLY] = PT_OP_mul_, [MP_BINARY_OP_INPLACE_TRUE_DIVIDE] = PT_OP_div_,
};

static mp_obj_t tensor_binary(mp_binary_op_t op, mp_obj_t left, mp_obj_t right)
{
    if ((size_t)op < MP_ARRAY_SIZE(binary_ops) && binary_ops[op]) {
        const mp_obj_t args[] = {left, right};
        if (pt_is_tensor(right) || pt_number_dtype(right) >= 0) {
            return mp_call_function_n_kw(MP_OBJ_FROM_PTR(binary_ops[op]), 2, 0, args);
        }
    }
    return MP_OBJ_NULL;
}

static const mp_rom_map_elem_t tensor_table[] = {
    {MP_ROM_QSTR(MP_QSTR_item), MP_ROM_PTR(&tensor_item_obj)},
    PT_METHODS
};
static MP_DEFINE_CONST_DICT(tensor_dict, tensor_table);

#define TENSOR_FLAGS (MP_TYPE_FLAG_EQ_CHECKS_OTHER_TYPE | MP_TYPE_FLAG_EQ_HAS_NEQ_TEST)
MP_DEFINE_CONST_OBJ_TYPE(pt_tensor_type, MP_QSTR_Tensor, TENSOR_FLAGS, attr, tensor_attr, print, pt_print, binary_op, tensor_binary,
   
    locals_dict, &tensor_dict);
MP_DEFINE_CONST_OBJ_TYPE(pt_parameter_type, MP_QSTR_Parameter, TENSOR_FLAGS, attr, tensor_attr, print, pt_print, binary_op,
    tensor_binary, locals_dict, &tensor_dict, parent, &pt_tensor_type);

/* ---- the module ------------------------------------------------------------------------------------------------ */

/* Functions that PyTorch has in torch.nn.functional, torch.special, torch.linalg. */
static const mp_rom_map_elem_t elsewhere_table[] = {
    {MP_ROM_QSTR(MP_QSTR___name__), MP_ROM_QSTR(MP_QSTR__nn)},
    PT_ELSEWHERE
};
static MP_DEFINE_CONST_DICT(elsewhere_dict, elsewhere_table);
static const mp_obj_module_t elsewhere = {.base = {&mp_type_module}, .globals = (mp_obj_dict_t *)&elsewhere_dict};

#define DTYPE(name, number) {MP_ROM_QSTR(MP_QSTR_##name), MP_ROM_PTR(&pt_dtypes[number])}
static const mp_rom_map_elem_t module_table[] = {
    {MP_ROM_QSTR(MP_QSTR___name__), MP_ROM_QSTR(MP_QSTR__torch)},
    {MP_ROM_QSTR(MP_QSTR_Tensor), MP_ROM_PTR(&pt_tensor_type)},
    {MP_ROM_QSTR(MP_QSTR_Size), MP_ROM_PTR(&pt_size_type)},
    {MP_ROM_QSTR(MP_QSTR_device), MP_ROM_PTR(&pt_device_type)},
    {MP_ROM_QSTR(MP_QSTR_strided), MP_ROM_PTR(&pt_strided)},
    {MP_ROM_QSTR(MP_QSTR_contiguous_format), MP_ROM_PTR(&pt_contiguous_format)},
    {MP_ROM_QSTR(MP_QSTR_preserve_format), MP_ROM_PTR(&pt_preserve_format)},
    DTYPE(bool, PT_BOOL), DTYPE(uint8, PT_UINT8), DTYPE(int8, PT_INT8), DTYPE(int16, PT_INT16),
    DTYPE(int32, PT_INT32), DTYPE(int64, PT_INT64), DTYPE(float16, PT_FLOAT16), DTYPE(bfloat16, PT_BFLOAT16),
    DTYPE(float32, PT_FLOAT32),
    {MP_ROM_QSTR(MP_QSTR_set_printoptions), MP_ROM_PTR(&pt_set_printoptions_obj)},
    {MP_ROM_QSTR(MP_QSTR__nn), MP_ROM_PTR(&elsewhere)},
    PT_FUNCTIONS
};
static MP_DEFINE_CONST_DICT(module_dict, module_table);

const mp_obj_module_t pt_module = {.base = {&mp_type_module}, .globals = (mp_obj_dict_t *)&module_dict};
MP_REGISTER_MODULE(MP_QSTR__torch, pt_module);
