/* What is wrong with the arguments of a call, in PyTorch's words. */
#include "call.h"

const char *pt_type_name(int type)
{
    const char *name =
        "Tensor\0Number\0int\0float\0bool\0tuple of ints\0tuple of Tensors\0tuple of floats\0torch.dtype\0"
        "str\0torch.device\0object";
    while (type--) {
        name += strlen(name) + 1;
    }
    return name;
}

static NORETURN void wrong_element(const pt_op_t *op, const pt_param_t *p, int position, mp_obj_t given)
{
    const int type = pt_kinds[p->kind].type;
    size_t count;
    mp_obj_t *items;
    pt_sequence(given, &count, &items);
    for (size_t k = 0; k < count; k++) {
        const char *name = mp_obj_get_type_str(items[k]);
        if (type == PT_ARG_TENSORS    ? pt_is_tensor(items[k])
                : type == PT_ARG_INTS ? pt_is_index(items[k])
                                      : pt_is_number(items[k])) {
            continue;
        }
        if (type == PT_ARG_TENSORS) {
            mp_raise_msg_varg(&mp_type_TypeError,
                MP_ERROR_TEXT("expected Tensor as element %d in argument %d, but got %s"), (int)k, position, name);
        }
        mp_raise_msg_varg(&mp_type_TypeError,
            MP_ERROR_TEXT(
                "%q(): argument '%q' failed to unpack the object at pos %d with error \"type must be %s,but got "
                "%s\""),
            op->name, pt_public_name(p), (int)k + 1, pt_type_name(type), name);
    }
    mp_raise_msg_varg(
        &mp_type_TypeError, MP_ERROR_TEXT("%q(): argument '%q' is too long"), op->name, pt_public_name(p));
}

NORETURN void pt_wrong_type(const pt_op_t *op, const pt_param_t *p, int position, mp_obj_t given)
{
    const int type = pt_kinds[p->kind].type;
    size_t count;
    mp_obj_t *items;
    const bool lists = PT_USES(INTS) || PT_USES(TENSORS) || PT_USES(FLOATS);
    if (lists && type >= PT_ARG_INTS && type <= PT_ARG_FLOATS && pt_sequence(given, &count, &items)) {
        wrong_element(op, p, position, given);
    }
    if (position < 0) {
        mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("%q(): argument '%q' must be %s, not %s"), op->name,
            pt_public_name(p), pt_type_name(type), mp_obj_get_type_str(given));
    }
    mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("%q(): argument '%q' (position %d) must be %s, not %s"),
        op->name, pt_public_name(p), position + 1, pt_type_name(type), mp_obj_get_type_str(given));
}

static void print_default(const mp_print_t *print, const pt_kind_t *kind)
{
    if (kind->flags & PT_NONE_DEFAULT) {
        mp_print_str(print, " = None");
    } else if (kind->type == PT_ARG_BOOL) {
        mp_print_str(print, kind->value.i ? " = True" : " = False");
    } else if (kind->flags & PT_FLOAT_DEFAULT) {
        mp_print_str(print, " = ");
        mp_obj_print_helper(print, mp_obj_new_float((mp_float_t)kind->value.f), PRINT_REPR);
    } else if (kind->flags & PT_HAS_DEFAULT) {
        mp_printf(print, " = %d", (int)kind->value.i);
    }
}

static void print_overload(const mp_print_t *print, const pt_op_t *op, const pt_overload_t *o)
{
    const char *comma = "";
    mp_print_str(print, "(");
    for (int k = 0; k < o->count; k++) {
        const pt_param_t *p = &pt_params[o->params + k];
        if (!pt_self(op) || pt_names[p->name] != MP_QSTR_self) {
            mp_printf(print, "%s%s%s %q", comma, k == o->positional ? "*, " : "", pt_type_name(pt_kinds[p->kind].type),
                pt_public_name(p));
            print_default(print, &pt_kinds[p->kind]);
            comma = ", ";
        }
    }
    mp_print_str(print,
        o->outs && !pt_self(op) ? o->count == o->positional ? ", *, Tensor out = None)" : ", Tensor out = None)" : ")");
}

void pt_print_overloads(const mp_print_t *print, const pt_op_t *op)
{
    const char *line = "";
    int k = op->first;
    pt_overload_t o;
    do {
        if (pt_overload(op, k, &o)) {
            mp_printf(print, "%s%q", line, op->name);
            print_overload(print, op, &o);
            line = "\n       ";
        }
    } while (!pt_overloads[k++].last);
}

NORETURN void pt_no_overload(const pt_op_t *op, size_t n, size_t n_kw, const mp_obj_t *args)
{
    vstr_t text;
    mp_print_t print;
    int signatures = 0;
    int k = op->first;
    pt_overload_t o;
    do {
        signatures += pt_overload(op, k, &o);
    } while (!pt_overloads[k++].last);
    vstr_init_print(&text, 64, &print);
    mp_printf(&print, "%q() received an invalid combination of arguments - got (", op->name);
    for (size_t at = (size_t)pt_self(op); at < n + n_kw; at++) {
        const mp_obj_t given = at < n ? args[at] : args[n + 2 * (at - n) + 1];
        mp_print_str(&print, at > (size_t)pt_self(op) ? ", " : "");
        if (at >= n) {
            mp_printf(&print, "%s=", mp_obj_str_get_str(args[n + 2 * (at - n)]));
        }
        mp_print_str(&print, mp_obj_get_type_str(given));
    }
    mp_print_str(&print, signatures == 1 ? "), but expected " : "), but expected one of:\n");
    k = op->first;
    do {
        if (pt_overload(op, k, &o)) {
            mp_print_str(&print, signatures == 1 ? "" : " * ");
            print_overload(&print, op, &o);
            mp_print_str(&print, signatures == 1 ? "" : "\n");
        }
    } while (!pt_overloads[k++].last);
    nlr_raise(mp_obj_new_exception_arg1(&mp_type_TypeError, mp_obj_new_str_from_vstr(&text)));
}
