/* The module `_torch`, which is `torch` itself if no Python part is built in. */
#include "packed.h"
#include "record.h"
#include "tensortype.h"

static mp_obj_t is_tensor(mp_obj_t o) { return mp_obj_new_bool(pt_is_tensor(o)); }
static MP_DEFINE_CONST_FUN_OBJ_1(is_tensor_obj, is_tensor);

/* Operators are searched for in tables, which take less room than a dictionary; torch keeps those that it has found. */
static void find(qstr name, mp_obj_t *dest, int place)
{
    if (dest[0] == MP_OBJ_NULL) {
        dest[0] = pt_operator(name, place);
    }
    if (dest[0] == MP_OBJ_NULL) {
        pt_find_packed(name, (char)place, MP_OBJ_NULL, dest);
    }
}

void pt_module_attr(mp_obj_t self, qstr name, mp_obj_t *dest)
{
    (void)self;
    find(name, dest, PT_IN_TORCH);
}

/* Functions that PyTorch has in torch.nn.functional, torch.special, torch.linalg. */
static void elsewhere_attr(mp_obj_t self, qstr name, mp_obj_t *dest)
{
    (void)self;
    find(name, dest, PT_IN_PARTS);
}

static MP_DEFINE_CONST_OBJ_TYPE(elsewhere_type, MP_QSTR__nn, MP_TYPE_FLAG_NONE, attr, elsewhere_attr);
static const mp_obj_base_t elsewhere = {&elsewhere_type};

#if PT_ALONE
#define PT_NAME MP_QSTR_torch
#else
#define PT_NAME MP_QSTR__torch
#endif
#define DTYPE(name, number) {MP_ROM_QSTR(MP_QSTR_##name), MP_ROM_PTR(&pt_dtypes[number])}
#define ENTRY(name, object) {MP_ROM_QSTR(MP_QSTR_##name), MP_ROM_PTR(&object)}
static const mp_rom_map_elem_t module_table[] = {
    {MP_ROM_QSTR(MP_QSTR___name__), MP_ROM_QSTR(PT_NAME)},
    ENTRY(Tensor, pt_tensor_type),
    ENTRY(Parameter, pt_parameter_type),
    ENTRY(Size, pt_size_type),
    ENTRY(device, pt_device_type),
    ENTRY(dtype, pt_dtype_type),
    ENTRY(strided, pt_strided),
    ENTRY(contiguous_format, pt_contiguous_format),
    ENTRY(preserve_format, pt_preserve_format),
    DTYPE(bool, PT_BOOL),
    DTYPE(uint8, PT_UINT8),
    DTYPE(int8, PT_INT8),
    DTYPE(int16, PT_INT16),
    DTYPE(short, PT_INT16),
    DTYPE(int32, PT_INT32),
    DTYPE(int, PT_INT32),
    DTYPE(int64, PT_INT64),
    DTYPE(long, PT_INT64),
    DTYPE(float16, PT_FLOAT16),
    DTYPE(half, PT_FLOAT16),
    DTYPE(bfloat16, PT_BFLOAT16),
    DTYPE(float32, PT_FLOAT32),
    DTYPE(float, PT_FLOAT32),
    ENTRY(is_tensor, is_tensor_obj),
    ENTRY(_nn, elsewhere),
#if PT_STREAM
    ENTRY(_check, pt_check_obj),
    ENTRY(_into, pt_into_obj),
    ENTRY(_named, pt_named_obj),
    ENTRY(_block, pt_block_obj),
    ENTRY(_open, pt_open_obj),
    ENTRY(_unit, pt_unit_obj),
    ENTRY(_run, pt_run_obj),
#endif
#if MICROPY_MODULE_BUILTIN_INIT
    ENTRY(__init__, pt_forget_obj),
#endif
#ifdef PT_RECORD
    ENTRY(_record, pt_record_obj),
#endif
};
static MP_DEFINE_CONST_DICT(module_dict, module_table);

const mp_obj_module_t pt_module = {.base = {&mp_type_module}, .globals = (mp_obj_dict_t *)&module_dict};
#if PT_ALONE
MP_REGISTER_MODULE(MP_QSTR_torch, pt_module);
#else
MP_REGISTER_MODULE(MP_QSTR__torch, pt_module);
#endif
#if !MICROPY_MODULE_ATTR_DELEGATION
#error "torch needs MICROPY_MODULE_ATTR_DELEGATION"
#endif
MP_REGISTER_MODULE_DELEGATION(pt_module, pt_module_attr);
