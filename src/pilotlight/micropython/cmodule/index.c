#include "tensortype.h"
mp_obj_t pt_subscr(mp_obj_t self, mp_obj_t index, mp_obj_t value) { (void)self;(void)index;(void)value; return MP_OBJ_NULL; }
