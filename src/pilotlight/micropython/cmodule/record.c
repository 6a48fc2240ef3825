#include "record.h"

#ifdef PT_RECORD
#include "py/runtime.h"

/* A set that gets the names, or None to stop. */
static mp_obj_t record(mp_obj_t names)
{
    if (names != mp_const_none && !mp_obj_is_type(names, &mp_type_set)) {
        mp_raise_TypeError(MP_ERROR_TEXT("expected a set or None"));
    }
    MP_STATE_VM(pt_recorded) = names == mp_const_none ? MP_OBJ_NULL : names;
    return mp_const_none;
}
MP_DEFINE_CONST_FUN_OBJ_1(pt_record_obj, record);

uint16_t pt_changed_name(uint16_t name)
{
    vstr_t text;
    vstr_init(&text, 32);
    vstr_add_str(&text, qstr_str(name));
    vstr_add_byte(&text, '_');
    return (uint16_t)qstr_from_strn(text.buf, text.len);
}

MP_REGISTER_ROOT_POINTER(mp_obj_t pt_recorded);
#endif
