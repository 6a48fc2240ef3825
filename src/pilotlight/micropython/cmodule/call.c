/* Calls by PyTorch's schemas: constant tables say what an operator takes, one parser reads them. */
#include "tensor.h"

/* ---- what is wrong, in PyTorch's words ------------------------------------------------------------------ */

static const char *const type_names[] = {
    "Tensor", "Number", "int", "float", "bool", "tuple of ints", "tuple of Tensors", "tuple of floats", "torch.dtype",
    "str", "object"
};

static NORETURN void wrong_type(const pt_op_t *op, const pt_param_t *p, int position, mp_obj_t given)
{
    if (position >= 0) {
        mp_raise_msg_varg(&mp_type_TypeError,
            MP_ERROR_TEXT("%q(): argument '%q' (position %d) must be %s, not %s"), op->name, p->name, position + 1,
            type_names[p->type], mp_obj_get_type_str(given));
    }
    mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("%q(): argument '%q' must be %s, not %s"), op->name, p->name,
        type_names[p->type], mp_obj_get_type_str(given));
}

/* ---- one argument ------------------------------------------------------------------------------------------ */

static bool is_number(mp_obj_t o) { return pt_number_dtype(o) >= 0; }

static bool is_index(mp_obj_t o)
{
    return mp_obj_is_int(o) || (pt_is_tensor(o) && pt_tensor(o)->ndim == 0 && !pt_is_float(pt_tensor(o)->dtype));
}

static int64_t index_of(mp_obj_t o) { return mp_obj_get_int(pt_is_tensor(o) ? pt_item(pt_tensor(o), 0) : o); }

static bool take_ints(pt_call_t *c, pt_arg_t *arg, size_t count, const mp_obj_t *items)
{
    int32_t *to = c->ints + c->ints_used;
    if (c->ints_used + (int)count > PT_INTS) {
        return false;
    }
    for (size_t k = 0; k < count; k++) {
        if (!is_index(items[k])) {
            return false;
        }
        to[k] = (int32_t)index_of(items[k]);
    }
    c->ints_used += (int)count;
    arg->v.ints = to;
    arg->count = (uint8_t)count;
    return true;
}

static bool take(pt_call_t *c, const pt_param_t *p, pt_arg_t *arg, mp_obj_t o)
{
    size_t count;
    mp_obj_t *items;
    arg->given = true;
    arg->object = o;
    if (o == mp_const_none) {
        arg->given = false;
        return (p->flags & PT_OPTIONAL) != 0 || p->type == PT_ARG_IGNORED;
    }
    switch (p->type) {
        case PT_ARG_TENSOR:
            if (!pt_is_tensor(o)) {
                return false;
            }
            arg->v.tensor = pt_tensor(o);
            return true;
        case PT_ARG_SCALAR:
            if (pt_is_tensor(o) && pt_tensor(o)->ndim == 0) {
                arg->object = pt_item(pt_tensor(o), 0);
                return true;
            }
            return is_number(o);
        case PT_ARG_INT:
            if (mp_obj_is_bool(o) || !is_index(o)) {
                return false;
            }
            arg->v.i = index_of(o);
            return true;
        case PT_ARG_FLOAT:
            if (!is_number(o)) {
                return false;
            }
            arg->v.f = mp_obj_get_float(o);
            return true;
        case PT_ARG_BOOL:
            if (!mp_obj_is_bool(o)) {
                return false;
            }
            arg->v.i = mp_obj_is_true(o);
            return true;
        case PT_ARG_INTS:
            if (p->length && is_index(o)) { /* int[2]: one number for all */
                for (int k = 0; k < p->length; k++) {
                    if (!take_ints(c, arg, 1, &o)) {
                        return false;
                    }
                }
                arg->v.ints = c->ints + c->ints_used - p->length;
                arg->count = p->length;
                return true;
            }
            return pt_sequence(o, &count, &items) && take_ints(c, arg, count, items);
        case PT_ARG_TENSORS:
        case PT_ARG_FLOATS:
            if (!pt_sequence(o, &count, &items)) {
                return false;
            }
            for (size_t k = 0; k < count; k++) {
                const bool fits = p->type == PT_ARG_FLOATS ? is_number(items[k])
                    : pt_is_tensor(items[k]) || items[k] == mp_const_none;
                if (!fits) {
                    return false;
                }
            }
            arg->v.objects = items;
            arg->count = (uint8_t)count;
            return true;
        case PT_ARG_DTYPE:
            if (!mp_obj_is_type(o, &pt_dtype_type)) {
                return false;
            }
            arg->v.dtype = (int)((pt_dtype_obj_t *)MP_OBJ_TO_PTR(o) - pt_dtypes);
            return true;
        case PT_ARG_STR:
            return mp_obj_is_str(o);
        default:
            return true;
    }
}

static void use_default(pt_call_t *c, const pt_param_t *p, pt_arg_t *arg)
{
    arg->given = !(p->flags & PT_NONE_DEFAULT);
    arg->object = mp_const_none;
    if (!arg->given) {
        return;
    }
    switch (p->type) {
        case PT_ARG_SCALAR:
            arg->object = p->flags & PT_FLOAT_DEFAULT ? mp_obj_new_float((mp_float_t)p->value.f)
                : MP_OBJ_NEW_SMALL_INT(p->value.i);
            break;
        case PT_ARG_FLOAT:
            arg->v.f = p->flags & PT_FLOAT_DEFAULT ? (mp_float_t)p->value.f : (mp_float_t)p->value.i;
            break;
        case PT_ARG_INTS:
            arg->v.ints = c->ints + c->ints_used;
            arg->count = p->length;
            for (int k = 0; k < p->length; k++) {
                c->ints[c->ints_used++] = p->value.i;
            }
            break;
        case PT_ARG_DTYPE:
            arg->v.dtype = (int)p->value.i;
            break;
        default:
            arg->v.i = p->value.i;
    }
}

/* ---- one overload -------------------------------------------------------------------------------------------- */

static int keyword(const pt_overload_t *o, qstr name)
{
    for (int k = 0; k < o->count; k++) {
        if (o->params[k].name == name || (k == 0 && name == MP_QSTR_input && o->params[0].name == MP_QSTR_self)) {
            return k;
        }
    }
    return -1;
}

/* Fills the arguments; false where they do not fit. With `loud` what is wrong is raised. */
static bool bind(pt_call_t *c, const pt_overload_t *o, size_t n, size_t n_kw, const mp_obj_t *args, bool loud)
{
    const pt_op_t *op = c->op;
    uint32_t seen = 0;
    size_t used = n;
    c->overload = o;
    c->ints_used = 0;
    c->out = NULL;
    for (size_t k = 0; k < n && k < o->positional; k++) {
        const pt_param_t *p = &o->params[k];
        /* x.view(2, 3): the rest of the arguments is a list of ints, where nothing else may follow */
        if (p->type == PT_ARG_INTS && k + 1 == o->positional && is_index(args[k])
            && (n > o->positional || p->length == 0) && take_ints(c, &c->args[k], n - k, args + k)) {
            c->args[k].given = true;
            seen |= 1u << k;
            used = o->positional;
            break;
        }
        if (!take(c, p, &c->args[k], args[k])) {
            if (loud) {
                wrong_type(op, p, (int)k, args[k]);
            }
            return false;
        }
        seen |= 1u << k;
    }
    if (used > o->positional) {
        if (loud) {
            mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("%q() takes %d positional arguments but %d were given"),
                op->name, (int)o->positional, (int)n);
        }
        return false;
    }
    for (size_t k = 0; k < n_kw; k++) {
        const qstr name = mp_obj_str_get_qstr(args[n + 2 * k]);
        const mp_obj_t value = args[n + 2 * k + 1];
        const int at = keyword(o, name);
        if (at < 0 && o->has_out && name == MP_QSTR_out) {
            if (value != mp_const_none && !pt_is_tensor(value)) {
                if (loud) {
                    mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("%q(): argument 'out' must be Tensor, not %s"),
                        op->name, mp_obj_get_type_str(value));
                }
                return false;
            }
            c->out = value == mp_const_none ? NULL : pt_tensor(value);
        } else if (at < 0) {
            if (loud) {
                mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("%q() got an unexpected keyword argument '%q'"),
                    op->name, name);
            }
            return false;
        } else if (seen & 1u << at || !take(c, &o->params[at], &c->args[at], value)) {
            if (loud && seen & 1u << at) {
                mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("%q() got multiple values for argument '%q'"),
                    op->name, name);
            } else if (loud) {
                wrong_type(op, &o->params[at], -1, value);
            }
            return false;
        } else {
            seen |= 1u << at;
        }
    }
    for (int k = 0; k < o->count; k++) {
        if (!(seen & 1u << k)) {
            if (!(o->params[k].flags & PT_HAS_DEFAULT)) {
                if (loud) {
                    mp_raise_msg_varg(&mp_type_TypeError,
                        MP_ERROR_TEXT("%q() missing 1 required positional arguments: \"%q\""), op->name,
                        o->params[k].name);
                }
                return false;
            }
            use_default(c, &o->params[k], &c->args[k]);
        }
    }
    if (o->kind == PT_IN_PLACE) {
        c->out = c->args[0].v.tensor;
    }
    return true;
}

static NORETURN void no_overload(const pt_op_t *op, size_t n, size_t n_kw, const mp_obj_t *args)
{
    vstr_t text;
    mp_print_t print;
    vstr_init_print(&text, 64, &print);
    mp_printf(&print, "%q() received an invalid combination of arguments - got (", op->name);
    for (size_t k = 0; k < n + n_kw; k++) {
        const mp_obj_t given = k < n ? args[k] : args[n + 2 * (k - n) + 1];
        mp_printf(&print, k ? ", " : "");
        if (k >= n) {
            mp_printf(&print, "%s=", mp_obj_str_get_str(args[n + 2 * (k - n)]));
        }
        mp_printf(&print, "%s", mp_obj_get_type_str(given));
    }
    mp_printf(&print, "), but expected one of:");
    for (int k = 0; k < op->count; k++) {
        const pt_overload_t *o = &op->overloads[k];
        mp_printf(&print, "\n * (");
        for (int p = 0; p < o->count; p++) {
            mp_printf(&print, "%s%s%s %q", p ? ", " : "", p == o->positional ? "*, " : "",
                type_names[o->params[p].type], o->params[p].name);
        }
        mp_printf(&print, ")");
    }
    nlr_raise(mp_obj_new_exception_arg1(&mp_type_TypeError, mp_obj_new_str_from_vstr(&text)));
}

static mp_obj_t op_call(mp_obj_t self, size_t n, size_t n_kw, const mp_obj_t *args)
{
    pt_call_t c;
    c.op = MP_OBJ_TO_PTR(self);
    for (int k = 0; k < c.op->count; k++) {
        if (bind(&c, &c.op->overloads[k], n, n_kw, args, c.op->count == 1)) {
            return c.overload->kernel(&c);
        }
    }
    no_overload(c.op, n, n_kw, args);
}

static void op_print(const mp_print_t *print, mp_obj_t self, mp_print_kind_t kind)
{
    (void)kind;
    mp_printf(print, "<built-in method %q>", ((pt_op_t *)MP_OBJ_TO_PTR(self))->name);
}

MP_DEFINE_CONST_OBJ_TYPE(pt_op_type, MP_QSTR_builtin_function, MP_TYPE_FLAG_BINDS_SELF, call, op_call, print, op_print);

/* ---- results ---------------------------------------------------------------------------------------------------- */

static bool same_sizes(const pt_tensor_t *t, int ndim, const int32_t *sizes)
{
    return t->ndim == ndim && memcmp(t->dims, sizes, (size_t)ndim * sizeof(int32_t)) == 0;
}

pt_tensor_t *pt_result(pt_call_t *c, int dtype, int ndim, const int32_t *sizes)
{
    pt_tensor_t *out = c->out;
    if (!out) {
        return pt_new(dtype, ndim, sizes);
    }
    if (pt_is_float(dtype) > pt_is_float(out->dtype) || (dtype != PT_BOOL && out->dtype == PT_BOOL)) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("result type %q can't be cast to the desired output type %q"), pt_dtypes[dtype].name,
            pt_dtypes[out->dtype].name);
    }
    pt_check_writable(out);
    if (same_sizes(out, ndim, sizes)) {
        return out;
    }
    if (c->overload->kind == PT_IN_PLACE) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("output with a shape of %d dimensions doesn't match the broadcast shape"), (int)out->ndim);
    }
    if (out->ndim != ndim) {
        mp_raise_msg(&mp_type_RuntimeError, MP_ERROR_TEXT("out= has another number of dimensions than the result"));
    }
    pt_become(out, pt_new(out->dtype, ndim, sizes)); /* PyTorch resizes out= as well */
    return out;
}

int pt_dim(pt_call_t *c, int64_t dim, int ndim)
{
    const int range = ndim ? ndim : 1;
    (void)c;
    if (dim < -range || dim >= range) {
        mp_raise_msg_varg(&mp_type_IndexError,
            MP_ERROR_TEXT("Dimension out of range (expected to be in range of [%d, %d], but got %d)"), -range,
            range - 1, (int)dim);
    }
    return (int)(dim < 0 ? dim + range : dim);
}
