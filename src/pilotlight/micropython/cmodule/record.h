/* Records in a set which operators a program uses; only in builds for this computer. */
#ifndef PT_RECORD_H
#define PT_RECORD_H

#include "py/obj.h"
#include "py/mpstate.h"

#ifdef PT_RECORD
MP_DECLARE_CONST_FUN_OBJ_1(pt_record_obj);
#define PT_RECORD_CALL(name) \
    (MP_STATE_VM(pt_recorded) ? (void)mp_obj_set_store(MP_STATE_VM(pt_recorded), MP_OBJ_NEW_QSTR(name)) : (void)0)
uint16_t pt_changed_name(uint16_t name); /* `add_` of `add` */
#define PT_CHANGED_NAME(name) pt_changed_name(name)
#else
#define PT_RECORD_CALL(name) ((void)0)
#define PT_CHANGED_NAME(name) (name)
#endif

#endif
