/* The small types around tensors: dtype, layout, device, Size and results with names. */
#include "tensor.h"

/* ---- dtype, device, layout and memory formats: constants with a text ------------------------------------------- */

static void dtype_print(const mp_print_t *print, mp_obj_t self, mp_print_kind_t kind)
{
    (void)kind;
    mp_printf(print, "torch.%q", ((pt_dtype_obj_t *)MP_OBJ_TO_PTR(self))->name);
}

static void dtype_attr(mp_obj_t self, qstr name, mp_obj_t *dest)
{
    const pt_dtype_obj_t *dtype = MP_OBJ_TO_PTR(self);
    const int number = (int)(dtype - pt_dtypes);
    if (dest[0] != MP_OBJ_NULL) {
        return;
    }
    if (name == MP_QSTR_itemsize) {
        dest[0] = MP_OBJ_NEW_SMALL_INT(dtype->size);
    } else if (name == MP_QSTR_is_floating_point) {
        dest[0] = mp_obj_new_bool(pt_is_float(number));
    } else if (name == MP_QSTR_is_complex) {
        dest[0] = mp_const_false;
    } else if (name == MP_QSTR_is_signed) {
        dest[0] = mp_obj_new_bool(number != PT_BOOL && number != PT_UINT8);
    }
}

MP_DEFINE_CONST_OBJ_TYPE(pt_dtype_type, MP_QSTR_dtype, MP_TYPE_FLAG_NONE, print, dtype_print, attr, dtype_attr);

int pt_dtype_of(mp_obj_t o)
{
    return mp_obj_is_type(o, &pt_dtype_type)   ? (int)((pt_dtype_obj_t *)MP_OBJ_TO_PTR(o) - pt_dtypes)
        : o == MP_OBJ_FROM_PTR(&mp_type_float) ? PT_FLOAT32
        : o == MP_OBJ_FROM_PTR(&mp_type_int)   ? PT_INT64
        : o == MP_OBJ_FROM_PTR(&mp_type_bool)  ? PT_BOOL
                                               : -1;
}

static void constant_print(const mp_print_t *print, mp_obj_t self, mp_print_kind_t kind)
{
    (void)kind;
    mp_printf(print, "torch.%q", ((pt_constant_t *)MP_OBJ_TO_PTR(self))->name);
}

static MP_DEFINE_CONST_OBJ_TYPE(constant_type, MP_QSTR_layout, MP_TYPE_FLAG_NONE, print, constant_print);

const pt_constant_t pt_strided = {{&constant_type}, MP_QSTR_strided};
const pt_constant_t pt_contiguous_format = {{&constant_type}, MP_QSTR_contiguous_format};
const pt_constant_t pt_preserve_format = {{&constant_type}, MP_QSTR_preserve_format};

static void device_print(const mp_print_t *print, mp_obj_t self, mp_print_kind_t kind)
{
    (void)self;
    mp_print_str(print, kind == PRINT_STR ? "cpu" : "device(type='cpu')");
}

static void device_attr(mp_obj_t self, qstr name, mp_obj_t *dest)
{
    (void)self;
    if (dest[0] == MP_OBJ_NULL && name == MP_QSTR_type) {
        dest[0] = MP_OBJ_NEW_QSTR(MP_QSTR_cpu);
    } else if (dest[0] == MP_OBJ_NULL && name == MP_QSTR_index) {
        dest[0] = mp_const_none;
    }
}

/* There is one device: `cpu`, with or without a number. */
bool pt_is_device(mp_obj_t o)
{
    if (mp_obj_is_type(o, &pt_device_type)) {
        return true;
    }
    if (!mp_obj_is_str(o)) {
        return false;
    }
    const char *text = mp_obj_str_get_str(o);
    if (strcmp(text, "cpu") != 0 && strcmp(text, "cpu:0") != 0) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("Expected one of cpu device type at start of device string: %s"), text);
    }
    return true;
}

static mp_obj_t device_make(const mp_obj_type_t *type, size_t n, size_t n_kw, const mp_obj_t *args)
{
    (void)type;
    mp_arg_check_num(n, n_kw, 1, 2, true);
    if (!pt_is_device(args[0])) {
        mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("device(): argument 'device' must be str, not %s"),
            mp_obj_get_type_str(args[0]));
    }
    return MP_OBJ_FROM_PTR(&pt_cpu);
}

MP_DEFINE_CONST_OBJ_TYPE(
    pt_device_type, MP_QSTR_device, MP_TYPE_FLAG_NONE, make_new, device_make, print, device_print, attr, device_attr);
const mp_obj_base_t pt_cpu = {&pt_device_type};

/* ---- sequences ------------------------------------------------------------------------------------------------- */

/* MicroPython's own mp_obj_get_array does not accept subclasses of tuple. */
bool pt_sequence(mp_obj_t o, size_t *count, mp_obj_t **items)
{
    if (!mp_obj_is_obj(o)) {
        return false;
    }
    const mp_obj_type_t *type = ((mp_obj_base_t *)MP_OBJ_TO_PTR(o))->type;
    if (type == &mp_type_list) {
        mp_obj_list_get(o, count, items);
        return true;
    }
    if (MP_OBJ_TYPE_GET_SLOT_OR_NULL(type, iter) == (const void *)mp_obj_tuple_getiter) {
        mp_obj_tuple_t *tuple = MP_OBJ_TO_PTR(o);
        *count = tuple->len;
        *items = tuple->items;
        return true;
    }
    return false;
}

static mp_obj_tuple_t *new_tuple(const mp_obj_type_t *type, size_t count, size_t room)
{
    mp_obj_tuple_t *tuple = m_new_obj_var(mp_obj_tuple_t, items, mp_obj_t, room);
    tuple->base.type = type;
    tuple->len = count;
    return tuple;
}

/* ---- Size ------------------------------------------------------------------------------------------------------ */

mp_obj_t pt_size_tuple(int count, const int32_t *values)
{
    mp_obj_tuple_t *tuple = new_tuple(&pt_size_type, (size_t)count, (size_t)count);
    for (int k = 0; k < count; k++) {
        tuple->items[k] = mp_obj_new_int(values[k]);
    }
    return MP_OBJ_FROM_PTR(tuple);
}

static mp_obj_t as_size(mp_obj_t given)
{
    const mp_obj_tuple_t *from = MP_OBJ_TO_PTR(given);
    if (given == MP_OBJ_NULL) {
        return given;
    }
    mp_obj_tuple_t *tuple = new_tuple(&pt_size_type, from->len, from->len);
    memcpy(tuple->items, from->items, from->len * sizeof(mp_obj_t));
    return MP_OBJ_FROM_PTR(tuple);
}

static mp_obj_t size_make(const mp_obj_type_t *type, size_t n, size_t n_kw, const mp_obj_t *args)
{
    (void)type;
    mp_arg_check_num(n, n_kw, 0, 1, false);
    if (n == 0) {
        return pt_size_tuple(0, NULL);
    }
    const mp_obj_t items = MP_OBJ_TYPE_GET_SLOT(&mp_type_tuple, make_new)(&mp_type_tuple, 1, 0, args);
    const mp_obj_tuple_t *tuple = MP_OBJ_TO_PTR(items);
    for (size_t k = 0; k < tuple->len; k++) {
        if (!mp_obj_is_int(tuple->items[k])) {
            mp_raise_msg_varg(&mp_type_TypeError,
                MP_ERROR_TEXT("torch.Size() takes an iterable of 'int' (item %d is '%s')"), (int)k,
                mp_obj_get_type_str(tuple->items[k]));
        }
    }
    return as_size(items);
}

static void size_print(const mp_print_t *print, mp_obj_t self, mp_print_kind_t kind)
{
    const mp_obj_tuple_t *tuple = MP_OBJ_TO_PTR(self);
    if (kind == PRINT_JSON) {
        mp_obj_tuple_print(print, self, kind);
        return;
    }
    mp_print_str(print, "torch.Size([");
    for (size_t k = 0; k < tuple->len; k++) {
        mp_print_str(print, k ? ", " : "");
        mp_obj_print_helper(print, tuple->items[k], PRINT_REPR);
    }
    mp_print_str(print, "])");
}

static mp_obj_t size_binary(mp_binary_op_t op, mp_obj_t left, mp_obj_t right)
{
    const bool makes = op == MP_BINARY_OP_ADD || op == MP_BINARY_OP_INPLACE_ADD || op == MP_BINARY_OP_MULTIPLY
        || op == MP_BINARY_OP_INPLACE_MULTIPLY;
    const mp_obj_t result = mp_obj_tuple_binary_op(op, left, right);
    return makes ? as_size(result) : result;
}

static mp_obj_t size_subscr(mp_obj_t self, mp_obj_t index, mp_obj_t value)
{
    const mp_obj_tuple_t *tuple = MP_OBJ_TO_PTR(self);
    if (value == MP_OBJ_SENTINEL && mp_obj_is_type(index, &mp_type_slice)) {
        int32_t picked[16];
        int count = 0;
        mp_bound_slice_t slice;
        mp_obj_slice_indices(index, (mp_int_t)tuple->len, &slice);
        if (tuple->len <= MP_ARRAY_SIZE(picked)) {
            for (mp_int_t at = (mp_int_t)slice.start;
                slice.step > 0 ? at < (mp_int_t)slice.stop : at > (mp_int_t)slice.stop; at += slice.step) {
                picked[count++] = (int32_t)mp_obj_get_int(tuple->items[at]);
            }
            return pt_size_tuple(count, picked);
        }
    }
    return mp_obj_tuple_subscr(self, index, value);
}

static mp_obj_t size_numel(mp_obj_t self)
{
    const mp_obj_tuple_t *tuple = MP_OBJ_TO_PTR(self);
    mp_obj_t product = MP_OBJ_NEW_SMALL_INT(1);
    for (size_t k = 0; k < tuple->len; k++) {
        product = mp_binary_op(MP_BINARY_OP_MULTIPLY, product, tuple->items[k]);
    }
    return product;
}
static MP_DEFINE_CONST_FUN_OBJ_1(size_numel_obj, size_numel);

static mp_obj_t tuple_count(mp_obj_t self, mp_obj_t value)
{
    const mp_obj_tuple_t *tuple = MP_OBJ_TO_PTR(self);
    return mp_seq_count_obj(tuple->items, tuple->len, value);
}
static MP_DEFINE_CONST_FUN_OBJ_2(tuple_count_obj, tuple_count);

static mp_obj_t tuple_index(size_t n, const mp_obj_t *args)
{
    const mp_obj_tuple_t *tuple = MP_OBJ_TO_PTR(args[0]);
    return mp_seq_index_obj(tuple->items, tuple->len, n, args);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(tuple_index_obj, 2, 4, tuple_index);

static const mp_rom_map_elem_t size_table[] = {
    {MP_ROM_QSTR(MP_QSTR_numel), MP_ROM_PTR(&size_numel_obj)},
    {MP_ROM_QSTR(MP_QSTR_count), MP_ROM_PTR(&tuple_count_obj)},
    {MP_ROM_QSTR(MP_QSTR_index), MP_ROM_PTR(&tuple_index_obj)},
};
static MP_DEFINE_CONST_DICT(size_dict, size_table);

/* Equality is asked of this type for plain tuples too: these compare only with their own. */
#define TUPLE_FLAGS (MP_TYPE_FLAG_ITER_IS_GETITER | MP_TYPE_FLAG_EQ_CHECKS_OTHER_TYPE)
MP_DEFINE_CONST_OBJ_TYPE(pt_size_type, MP_QSTR_Size, TUPLE_FLAGS, make_new, size_make, print, size_print, unary_op,
    mp_obj_tuple_unary_op, binary_op, size_binary, subscr, size_subscr, iter, mp_obj_tuple_getiter, locals_dict,
    &size_dict, parent, &mp_type_tuple);

/* ---- results with names ---------------------------------------------------------------------------------------- */

/* As MicroPython's attrtuple, one item more than the length says holds the names. */
static const uint16_t *names_of(mp_obj_t self)
{
    const mp_obj_tuple_t *tuple = MP_OBJ_TO_PTR(self);
    return MP_OBJ_TO_PTR(tuple->items[tuple->len]);
}

static void named_print(const mp_print_t *print, mp_obj_t self, mp_print_kind_t kind)
{
    const mp_obj_tuple_t *tuple = MP_OBJ_TO_PTR(self);
    const uint16_t *names = names_of(self);
    (void)kind;
    mp_printf(print, "torch.return_types.%q(", names[0]);
    for (size_t k = 0; k < tuple->len; k++) {
        mp_printf(print, "%s\n%q=", k ? "," : "", names[k + 1]);
        mp_obj_print_helper(print, tuple->items[k], PRINT_REPR);
    }
    mp_print_str(print, ")");
}

static void named_attr(mp_obj_t self, qstr name, mp_obj_t *dest)
{
    const mp_obj_tuple_t *tuple = MP_OBJ_TO_PTR(self);
    const uint16_t *names = names_of(self);
    for (size_t k = 0; dest[0] == MP_OBJ_NULL && k < tuple->len; k++) {
        if (names[k + 1] == name) {
            dest[0] = tuple->items[k];
            return;
        }
    }
}

static MP_DEFINE_CONST_OBJ_TYPE(named_type, MP_QSTR_return_types, TUPLE_FLAGS, print, named_print, unary_op,
    mp_obj_tuple_unary_op, binary_op, mp_obj_tuple_binary_op, attr, named_attr, subscr, mp_obj_tuple_subscr, iter,
    mp_obj_tuple_getiter, parent, &mp_type_tuple);

mp_obj_t pt_named(const uint16_t *names, int count, const mp_obj_t *objects)
{
    mp_obj_tuple_t *tuple = new_tuple(&named_type, (size_t)count, (size_t)count + 1);
    memcpy(tuple->items, objects, (size_t)count * sizeof(mp_obj_t));
    tuple->items[count] = MP_OBJ_FROM_PTR(names);
    return MP_OBJ_FROM_PTR(tuple);
}
