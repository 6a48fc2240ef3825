/* Operators that are written in Python: how they are found, and what their wrappers need from C. */
#include "packed.h"

#include "py/builtin.h"
#include "py/persistentcode.h"

#include "call.h"

#if PT_STREAM
#if !MICROPY_PERSISTENT_CODE_LOAD || !MICROPY_PY_DEFLATE
#error "torch needs MICROPY_PERSISTENT_CODE_LOAD and MICROPY_PY_DEFLATE"
#endif
#include "lib/uzlib/uzlib.h"

/* Two bytes a name say where it is, and that most others are nowhere: the number of the block, and in the lowest byte
 * the place in it; -1 for a name that is in none. */
static int find_unit(const byte *name, size_t length)
{
    uint16_t hash = pt_salt;
    int block = 0;
    for (; length; length--) {
        hash = (uint16_t)(hash * 33 ^ *name++);
    }
    for (int k = 0; k < pt_units; k++) {
        block += k >= pt_first_units[block + 1];
        if (pt_unit_hashes[k] == hash) {
            return block << 8 | (k - pt_first_units[block]);
        }
    }
    return -1;
}

/* _block(name of a unit): where it is. */
static mp_obj_t block(mp_obj_t name)
{
    size_t length;
    const char *text = mp_obj_str_get_data(name, &length);
    return MP_OBJ_NEW_SMALL_INT(find_unit((const byte *)text, length));
}
MP_DEFINE_CONST_FUN_OBJ_1(pt_block_obj, block);

/* A block and how much of it is unpacked. */
typedef struct {
    mp_obj_base_t base;
    uzlib_uncomp_t stream;
    int units;
} packed_block_t;

static MP_DEFINE_CONST_OBJ_TYPE(block_type, MP_QSTR_block, MP_TYPE_FLAG_NONE);

/* _open(number of a block) */
static mp_obj_t open_block(mp_obj_t number)
{
    const mp_int_t k = MP_OBJ_SMALL_INT_VALUE(number);
    packed_block_t *b = mp_obj_malloc(packed_block_t, &block_type);
    b->units = 0;
    memset(&b->stream, 0, sizeof(b->stream));
    uzlib_uncompress_init(&b->stream, NULL, 0);
    b->stream.source = pt_blocks + pt_block_starts[k];
    b->stream.source_limit = pt_blocks + pt_block_starts[k + 1];
    b->stream.dest_start = b->stream.dest = m_new(byte, pt_block_sizes[k]);
    return MP_OBJ_FROM_PTR(b);
}
MP_DEFINE_CONST_FUN_OBJ_1(pt_open_obj, open_block);

static byte *read_block(packed_block_t *b, size_t size)
{
    byte *start = b->stream.dest;
    b->stream.dest_limit = start + size;
    uzlib_uncompress(&b->stream);
    return start;
}

/* _unit(block, place in it): the unit; places must be requested in order. */
static mp_obj_t unit(mp_obj_t block, mp_obj_t place)
{
    packed_block_t *b = MP_OBJ_TO_PTR(block);
    const byte *start = NULL;
    size_t size = 0;
    while (b->units <= MP_OBJ_SMALL_INT_VALUE(place)) {
        const byte *head = read_block(b, 2);
        size = (size_t)(head[0] | head[1] << 8);
        start = read_block(b, size);
        b->units++;
    }
    return mp_obj_new_bytes(start, size);
}
MP_DEFINE_CONST_FUN_OBJ_2(pt_unit_obj, unit);

/* _run(bytecode, names): what the bytecode defines is then in the dictionary. */
static mp_obj_t run(mp_obj_t code, mp_obj_t names)
{
    mp_buffer_info_t buffer;
    mp_compiled_module_t made = {.context = m_new_obj(mp_module_context_t)};
    nlr_jump_callback_node_globals_locals_t before = {.globals = mp_globals_get(), .locals = mp_locals_get()};
    mp_get_buffer_raise(code, &buffer, MP_BUFFER_READ);
    made.context->module.base.type = &mp_type_module;
    made.context->module.globals = MP_OBJ_TO_PTR(names);
    mp_raw_code_load_mem(buffer.buf, buffer.len, &made);
    const mp_obj_t function = mp_make_function_from_proto_fun(made.rc, made.context, NULL);
    mp_globals_set(MP_OBJ_TO_PTR(names));
    mp_locals_set(MP_OBJ_TO_PTR(names));
    nlr_push_jump_callback(&before.callback, mp_globals_locals_set_from_nlr_jump_callback);
    mp_call_function_0(function);
    nlr_pop_jump_callback(true);
    return mp_const_none;
}
MP_DEFINE_CONST_FUN_OBJ_2(pt_run_obj, run);

void pt_find_packed(qstr name, char form, mp_obj_t self, mp_obj_t *dest)
{
    size_t length;
    const byte *text = qstr_data(name, &length);
    mp_obj_t args[] = {MP_OBJ_NEW_QSTR(name), MP_OBJ_NULL, mp_const_false};
    bool refuse = false;
    if (text[0] == '_' && text[1] == '_') {
        return;
    }
    if (find_unit(text, length) < 0) {
        if (text[length - 1] == '_' && find_unit(text, length - 1) >= 0) {
            args[0] = mp_obj_new_str((const char *)text, length - 1);
            args[2] = mp_const_true;
        } else if (form == 'm') { /* of the others, torch says so when no module has the name either */
            refuse = true;
        } else {
            return;
        }
    }
    args[1] = mp_obj_new_str(&form, 1);
    const mp_obj_t torch = mp_import_name(MP_QSTR_torch, mp_const_none, MP_OBJ_NEW_SMALL_INT(0));
    const mp_obj_t packed = mp_load_attr(torch, MP_QSTR__packed);
    const mp_obj_t found = refuse ? mp_call_function_1(mp_load_attr(packed, MP_QSTR_refuse), args[0])
                                  : mp_call_function_n_kw(mp_load_attr(packed, MP_QSTR_operator), 3, 0, args);
    if (mp_obj_is_str(found)) {
        mp_load_method_maybe(self, mp_obj_str_get_qstr(found), dest);
    } else if (found != mp_const_none) {
        dest[0] = found;
        dest[1] = self;
    }
}

mp_obj_t pt_call_packed(qstr name, size_t n, size_t keywords, const mp_obj_t *args)
{
    mp_obj_t found[2] = {MP_OBJ_NULL, MP_OBJ_NULL};
    pt_find_packed(name, 'f', MP_OBJ_NULL, found);
    return found[0] == MP_OBJ_NULL ? MP_OBJ_NULL : mp_call_function_n_kw(found[0], n, keywords, args);
}

/* _check(operator, argument, types, value): the value, of a tensor its number where only that is wanted, a dtype for
 * Python's float, int and bool. */
static mp_obj_t check(size_t n, const mp_obj_t *args)
{
    pt_call_t c;
    const char *types = mp_obj_str_get_str(args[2]);
    pt_kind_t kind = {.flags = strchr(types, '?') ? PT_OPTIONAL : 0};
    int first = -1;
    (void)n;
    for (; *types; types++) {
        if (*types < 'A') {
            continue;
        }
        kind.type = (uint8_t)((*types | 32) - 'a');
        kind.length = *types < 'a';
        c.ints_used = 0;
        if (pt_accept(&c, &kind, &c.args[0], args[3])) {
            return kind.type == PT_ARG_DTYPE && c.args[0].given ? MP_OBJ_FROM_PTR(&pt_dtypes[c.args[0].v.dtype])
                : kind.type != PT_ARG_TENSOR && kind.type < PT_ARG_INTS && pt_is_tensor(args[3])
                ? pt_item(pt_tensor(args[3]), 0)
                : args[3];
        }
        first = first < 0 ? kind.type : first;
    }
    mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("%q(): argument '%q' must be %s, not %s"),
        mp_obj_str_get_qstr(args[0]), mp_obj_str_get_qstr(args[1]), pt_type_name(first), mp_obj_get_type_str(args[3]));
}
MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(pt_check_obj, 4, 4, check);

/* _into(out, result, in_place, arguments, apart): out= or self with the result in it, where it does not lie over one of
 * the arguments; those from number `apart` on it may not be either. */
static mp_obj_t into(size_t n, const mp_obj_t *args)
{
    const mp_obj_t out = args[0], result = args[1];
    pt_tensor_t *y = pt_tensor(result);
    if (!pt_is_tensor(out)) {
        mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("argument '%q' must be Tensor, not %s"), MP_QSTR_out,
            mp_obj_get_type_str(out));
    }
    if (pt_is_tensor(result)) {
        pt_call_t c = {.out = pt_tensor(out), .in_place = args[2] == mp_const_true};
        pt_tensor_t *to = pt_result(&c, y->dtype, y->ndim, pt_sizes(y));
        size_t count = 0;
        mp_obj_t *read;
        if (n > 3) {
            mp_obj_get_array(args[3], &count, &read);
        }
        for (size_t k = 0; k < count; k++) {
            pt_check_arguments(to, read[k], (mp_int_t)k >= MP_OBJ_SMALL_INT_VALUE(args[4]));
        }
        pt_copy_into(to, y);
    }
    return out;
}
MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(pt_into_obj, 3, 5, into);

/* _named(operator, names, values): torch.return_types.mode(values=..., indices=...). */
static mp_obj_t named(mp_obj_t operator, mp_obj_t names, mp_obj_t values)
{
    size_t count, given;
    mp_obj_t *texts, *objects;
    mp_obj_get_array(names, &count, &texts);
    mp_obj_get_array(values, &given, &objects);
    uint16_t *qstrs = m_new(uint16_t, count + 1);
    qstrs[0] = (uint16_t)mp_obj_str_get_qstr(operator);
    for (size_t k = 0; k < count; k++) {
        qstrs[k + 1] = (uint16_t)mp_obj_str_get_qstr(texts[k]);
    }
    return pt_named(qstrs, (int)count, objects);
}
MP_DEFINE_CONST_FUN_OBJ_3(pt_named_obj, named);

#endif
