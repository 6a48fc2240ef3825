/* One argument of a call by schema: whether it fits, and its value. */
#include "call.h"

bool pt_is_index(mp_obj_t o)
{
    return mp_obj_is_int(o) || (pt_is_tensor(o) && pt_tensor(o)->ndim == 0 && !pt_is_float(pt_tensor(o)->dtype));
}

static int64_t index_of(mp_obj_t o) { return pt_int64(pt_is_tensor(o) ? pt_item(pt_tensor(o), 0) : o); }

bool pt_accept_ints(pt_call_t *c, pt_arg_t *arg, size_t count, const mp_obj_t *items)
{
    int32_t *to = c->ints + c->ints_used;
    if (c->ints_used + (int)count > PT_INTS) {
        return false;
    }
    for (size_t k = 0; k < count; k++) {
        if (!pt_is_index(items[k])) {
            return false;
        }
        const int64_t v = index_of(items[k]); /* beyond any tensor: the largest number will do */
        to[k] = (int32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
    }
    c->ints_used += (int)count;
    arg->v.ints = to;
    arg->count = (uint16_t)count;
    return true;
}

static bool take_one_for_all(pt_call_t *c, pt_arg_t *arg, int length, mp_obj_t o)
{
    int32_t *to = c->ints + c->ints_used;
    if (!pt_accept_ints(c, arg, 1, &o) || c->ints_used + length > PT_INTS) {
        return false;
    }
    for (int k = 1; k < length; k++) {
        to[k] = to[0];
    }
    c->ints_used += length - 1;
    arg->count = (uint8_t)length;
    return true;
}

static bool take_objects(const pt_kind_t *kind, pt_arg_t *arg, mp_obj_t o)
{
    size_t count;
    mp_obj_t *items;
    if (!pt_sequence(o, &count, &items) || count > UINT16_MAX) {
        return false;
    }
    for (size_t k = 0; k < count; k++) {
        const bool gap = kind->flags & PT_GAPS && items[k] == mp_const_none;
        if (kind->type == PT_ARG_FLOATS ? !pt_is_number(items[k]) : !pt_is_tensor(items[k]) && !gap) {
            return false;
        }
    }
    arg->v.objects = items;
    arg->count = (uint16_t)count;
    return true;
}

bool pt_accept(pt_call_t *c, const pt_kind_t *kind, pt_arg_t *arg, mp_obj_t o)
{
    arg->given = true;
    arg->object = o;
    if (kind->type == PT_ARG_TENSOR && pt_is_tensor(o)) {
        arg->v.tensor = pt_tensor(o);
        return true;
    }
    if (o == mp_const_none) {
        arg->given = false;
        return kind->flags & PT_OPTIONAL || kind->type >= PT_ARG_DEVICE;
    }
    switch (kind->type) {
        case PT_ARG_TENSOR:
            return kind->flags & PT_NUMBER && pt_is_number(o);
        case PT_ARG_SCALAR:
            if (!PT_USES(SCALAR)) {
                return false;
            }
            if (pt_is_tensor(o) && pt_tensor(o)->ndim == 0) {
                arg->object = pt_item(pt_tensor(o), 0);
                return true;
            }
            return pt_is_number(o);
        case PT_ARG_INT:
            if (mp_obj_is_bool(o) || !pt_is_index(o)) {
                return false;
            }
            arg->v.i = index_of(o);
            return true;
        case PT_ARG_FLOAT:
            if (!PT_USES(FLOAT)) {
                return false;
            }
            if (pt_is_tensor(o) && pt_tensor(o)->ndim == 0) {
                o = pt_item(pt_tensor(o), 0);
            }
            if (!pt_is_number(o)) {
                return false;
            }
            arg->v.f = mp_obj_get_float(o);
            return true;
        case PT_ARG_BOOL:
            if (!mp_obj_is_bool(o)) {
                return false;
            }
            arg->v.i = o == mp_const_true;
            return true;
        case PT_ARG_INTS: {
            size_t count;
            mp_obj_t *items;
            if (!PT_USES(INTS)) {
                return false;
            }
            if (kind->length && pt_is_index(o)) { /* int[2]: one number for all */
                return take_one_for_all(c, arg, kind->length, o);
            }
            return pt_sequence(o, &count, &items) && pt_accept_ints(c, arg, count, items);
        }
        case PT_ARG_TENSORS:
        case PT_ARG_FLOATS:
            return (PT_USES(TENSORS) || PT_USES(FLOATS)) && take_objects(kind, arg, o);
        case PT_ARG_DTYPE:
            arg->v.dtype = pt_dtype_of(o);
            return arg->v.dtype >= 0;
        case PT_ARG_STR:
            return mp_obj_is_str(o);
        case PT_ARG_DEVICE:
            return pt_is_device(o);
        default:
            return true;
    }
}

void pt_accept_default(pt_call_t *c, const pt_kind_t *kind, pt_arg_t *arg)
{
    const int flags = kind->flags;
    arg->given = !(flags & PT_NONE_DEFAULT);
    arg->object = mp_const_none;
    if (!arg->given) {
        return;
    }
    switch (kind->type) {
        case PT_ARG_SCALAR:
            arg->object = !PT_USES(SCALAR) ? mp_const_none
                : flags & PT_FLOAT_DEFAULT ? mp_obj_new_float((mp_float_t)kind->value.f)
                                           : MP_OBJ_NEW_SMALL_INT(kind->value.i);
            break;
        case PT_ARG_FLOAT:
            arg->v.f =
                PT_USES(FLOAT) && flags & PT_FLOAT_DEFAULT ? (mp_float_t)kind->value.f : (mp_float_t)kind->value.i;
            break;
        case PT_ARG_INTS:
            if (PT_USES(INTS)) {
                take_one_for_all(c, arg, kind->length ? kind->length : 1, MP_OBJ_NEW_SMALL_INT(kind->value.i));
            }
            break;
        case PT_ARG_DTYPE:
            arg->v.dtype = (int)kind->value.i;
            break;
        default:
            arg->v.i = kind->value.i;
    }
}
