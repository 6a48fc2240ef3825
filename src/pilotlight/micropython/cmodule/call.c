/* Calls by PyTorch's schemas: constant tables say what an operator takes, one parser reads them. */
#include "call.h"
#include "core.h"
#include "record.h"
#include "tensortype.h"

#include "host.h"

#include "py/objtype.h"

/* NumPy's names are accepted, as in PyTorch. */
static qstr own_name(qstr name)
{
    switch (name) {
        case MP_QSTR_input:
        case MP_QSTR_x:
        case MP_QSTR_a:
        case MP_QSTR_x1:
            return MP_QSTR_self;
        case MP_QSTR_axis:
            return MP_QSTR_dim;
        case MP_QSTR_keepdims:
            return MP_QSTR_keepdim;
        case MP_QSTR_x2:
            return MP_QSTR_other;
        default:
            return name;
    }
}

static int keyword(const pt_overload_t *o, qstr name)
{
    const pt_param_t *params = &pt_params[o->params];
    const qstr own = own_name(name);
    for (int k = 0; k < o->count; k++) {
        if (pt_names[params[k].name] == name || pt_names[params[k].name] == own) {
            return k;
        }
    }
    return -1;
}

/* out=tensor, or a tuple of as many as the operator gives. */
static bool take_out(pt_call_t *c, const pt_overload_t *o, mp_obj_t value)
{
    size_t count;
    mp_obj_t *items;
    if (value == mp_const_none) {
        return true;
    }
    if (o->outs == 1 && pt_is_tensor(value)) {
        c->out = pt_tensor(value);
        return true;
    }
    if (!PT_HAS_OUTS || o->outs < 2 || !pt_sequence(value, &count, &items) || count != o->outs) {
        return false;
    }
    for (size_t k = 0; k < count; k++) {
        if (!pt_is_tensor(items[k])) {
            return false;
        }
        *(k ? &c->more[k - 1] : &c->out) = pt_tensor(items[k]);
    }
    return true;
}

#define FAIL(...)        \
    do {                 \
        if (loud) {      \
            __VA_ARGS__; \
        }                \
        return false;    \
    } while (0)

static bool bind_defaults(pt_call_t *c, const pt_overload_t *o, uint32_t seen, bool loud)
{
    const pt_param_t *params = &pt_params[o->params];
    for (int k = 0; k < o->count; k++) {
        if (seen & 1u << k) {
            continue;
        }
        const pt_kind_t *kind = &pt_kinds[params[k].kind];
        if (!(kind->flags & PT_HAS_DEFAULT)) {
            FAIL(mp_raise_msg_varg(&mp_type_TypeError,
                MP_ERROR_TEXT("%q() missing 1 required positional arguments: \"%q\""), c->op->name,
                pt_public_name(&params[k])));
        }
        pt_accept_default(c, kind, &c->args[k]);
    }
    return true;
}

static bool bind_keywords(
    pt_call_t *c, const pt_overload_t *o, size_t n_kw, const mp_obj_t *args, uint32_t *seen, bool loud)
{
    const pt_op_t *op = c->op;
    c->requires_grad = false;
    for (size_t k = 0; k < n_kw; k++) {
        const qstr name = mp_obj_str_get_qstr(args[2 * k]);
        const mp_obj_t value = args[2 * k + 1];
        const int at = keyword(o, name);
        if (at >= 0) {
            const pt_param_t *p = &pt_params[o->params + at];
            if (*seen & 1u << at) {
                FAIL(mp_raise_msg_varg(
                    &mp_type_TypeError, MP_ERROR_TEXT("%q() got multiple values for argument '%q'"), op->name, name));
            }
            if (!pt_accept(c, &pt_kinds[p->kind], &c->args[at], value)) {
                FAIL(pt_wrong_type(op, p, -1, value));
            }
            *seen |= 1u << at;
        } else if (name == MP_QSTR_out && o->outs && op->function && !op->in_place) {
            if (!take_out(c, o, value)) {
                FAIL(mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("%q(): argument 'out' must be %s, not %s"),
                    op->name, pt_type_name(o->outs == 1 ? PT_ARG_TENSOR : PT_ARG_TENSORS), mp_obj_get_type_str(value)));
            }
        #if PT_HAS_FACTORIES
        } else if (name == MP_QSTR_requires_grad && keyword(o, MP_QSTR_pin_memory) >= 0) { /* it makes a tensor */
            c->requires_grad = mp_obj_is_true(value);
        #endif
        } else { /* PyTorch reports missing arguments first */
            FAIL(bind_defaults(c, o, *seen, true); mp_raise_msg_varg(
                &mp_type_TypeError, MP_ERROR_TEXT("%q() got an unexpected keyword argument '%q'"), op->name, name));
        }
    }
    return true;
}

/* Positional arguments, from the k-th on, that are not plain tensors or not enough. */
static bool bind_rest(
    pt_call_t *c, const pt_overload_t *o, size_t k, size_t n, size_t n_kw, const mp_obj_t *args, bool loud)
{
    const pt_op_t *op = c->op;
    const pt_param_t *params = &pt_params[o->params];
    const int self = pt_self(op);
    const bool list = PT_USES(INTS) && o->positional == self + 1 && pt_kinds[params[self].kind].type == PT_ARG_INTS;
    const pt_kind_t *first = o->count ? &pt_kinds[params->kind] : NULL;
    const bool tensors =
        PT_HAS_VARIADIC && first && first->type == PT_ARG_TENSORS && first->length && k < n && pt_is_tensor(args[k]);
    uint32_t seen = (1u << k) - 1;
    if (n > o->positional && !list && !tensors) {
        FAIL(mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("%q() takes %d positional argument%s but %d %s given"),
            op->name, o->positional - self, o->positional - self == 1 ? "" : "s", (int)n - self,
            (int)n - self == 1 ? "was" : "were"));
    }
    for (; k < n; k++) {
        const int at = self && o->self_second && k < 2 ? 1 - (int)k : (int)k;
        const pt_kind_t *kind = &pt_kinds[params[at].kind];
        seen |= 1u << at;
        if (list && k == (size_t)self
            && (n > o->positional || (!kind->length && pt_is_index(args[k])))) { /* view(2, 3) */
            c->args[at].given = true;
            if (!pt_accept_ints(c, &c->args[at], n - k, args + k)) {
                FAIL(pt_wrong_type(op, &params[at], (int)k - self, mp_obj_new_tuple(n - k, args + k)));
            }
            break;
        }
        if (tensors) { /* meshgrid(x, y) */
            if (!pt_accept(c, kind, &c->args[at], mp_obj_new_tuple(n - k, args + k))) {
                FAIL(pt_wrong_type(op, &params[at], (int)k - self, args[k]));
            }
            break;
        }
        if (!pt_accept(c, kind, &c->args[at], args[k])) {
            FAIL(pt_wrong_type(op, &params[at], (int)k - self, args[k]));
        }
    }
    return (!n_kw || bind_keywords(c, o, n_kw, args + n, &seen, loud)) && bind_defaults(c, o, seen, loud);
}

/* Fills the arguments; false if they do not fit. With `loud` the reason is raised. */
static bool bind(pt_call_t *c, const pt_overload_t *o, size_t n, size_t n_kw, const mp_obj_t *args, bool loud)
{
    const pt_param_t *p = &pt_params[o->params];
    const size_t plain = o->self_second || n > o->positional ? 0 : n;
    size_t k = 0;
    c->overload = o;
    c->ints_used = 0;
    c->laps = PT_APART;
    c->out = NULL;
    for (; k < plain && pt_kinds[p->kind].type == PT_ARG_TENSOR && pt_is_tensor(args[k]); k++, p++) {
        c->args[k].given = true;
        c->args[k].object = args[k];
        c->args[k].v.tensor = pt_tensor(args[k]);
    }
    if ((k < o->count || k < n || n_kw) && !bind_rest(c, o, k, n, n_kw, args, loud)) {
        return false;
    }
    if (c->in_place) {
        c->out = c->args[0].v.tensor;
    }
    return true;
}

bool pt_overload(const pt_op_t *op, int number, pt_overload_t *o)
{
    const pt_entry_t entry = pt_overloads[number];
    o->kernel = pt_kernels[entry.kernel];
    o->signature = pt_signatures[entry.signature];
    if (PT_HAS_ROWS && entry.row) {
        o->data.row = pt_rows[entry.data];
    } else {
        o->data.number = entry.data;
    }
    return op->function ? o->function : o->method;
}

/* PyTorch explains what is wrong with the only overload that takes this many arguments, else it lists them all. */
static NORETURN void complain(pt_call_t *c, size_t n, size_t n_kw, const mp_obj_t *args)
{
    pt_overload_t o, plausible, only;
    int count = 0, signatures = 0, at = c->op->first;
    if (!PT_HAS_SEVERAL) {
        pt_overload(c->op, at, &o);
        bind(c, &o, n, n_kw, args, true);
        mp_raise_TypeError(NULL); /* not reached: the arguments still do not fit */
    }
    do {
        if (pt_overload(c->op, at, &o)) {
            int required = 0;
            for (int k = 0; k < o.count; k++) {
                required += !(pt_kinds[pt_params[o.params + k].kind].flags & PT_HAS_DEFAULT);
            }
            signatures++;
            only = o;
            if (n + n_kw >= (size_t)required && n + n_kw <= (size_t)(o.count + (o.outs && c->op->function))) {
                plausible = o;
                count++;
            }
        }
    } while (!pt_overloads[at++].last);
    if (signatures == 1 || count == 1) {
        bind(c, signatures == 1 ? &only : &plausible, n, n_kw, args, true);
    }
    pt_no_overload(c->op, n, n_kw, args);
}

/* ---- complex numbers ------------------------------------------------------------------------------------------- */

/* They are objects of a Python class with a method that computes operators: _torch_function(name, args, kwargs). */
static const pt_op_t *const complex_op = PT_OP__fft_rows; /* NULL: a build without them */

bool pt_has_function(mp_obj_t o, mp_obj_t *method)
{
    method[0] = MP_OBJ_NULL;
    if (complex_op && mp_obj_is_obj(o) && mp_obj_is_instance_type(mp_obj_get_type(o))) {
        mp_load_method_maybe(o, MP_QSTR__torch_function, method);
    }
    return method[0] != MP_OBJ_NULL;
}

/* The result of the first argument, or item of an argument, that computes operators itself; else MP_OBJ_NULL. */
static mp_obj_t overridden(const pt_op_t *op, size_t n, size_t n_kw, const mp_obj_t *args)
{
    mp_obj_t method[5];
    bool found = false;
    for (size_t k = 0; k < n + 2 * n_kw && !found; k++) {
        size_t count = 0;
        mp_obj_t *items;
        found = pt_has_function(args[k], method);
        if (!found && pt_sequence(args[k], &count, &items)) {
            for (size_t j = 0; j < count && !found; j++) {
                found = pt_has_function(items[j], method);
            }
        }
    }
    if (!found) {
        return MP_OBJ_NULL;
    }
    method[2] = MP_OBJ_NEW_QSTR(op->name);
    method[3] = mp_obj_new_tuple(n, args);
    method[4] = mp_obj_new_dict(n_kw);
    for (size_t k = 0; k < n_kw; k++) {
        mp_obj_dict_store(method[4], args[n + 2 * k], args[n + 2 * k + 1]);
    }
    return mp_call_method_n_kw(3, 0, method);
}

static mp_obj_t call(const pt_op_t *op, size_t n, size_t n_kw, const mp_obj_t *args)
{
    pt_call_t c;
    pt_overload_t o;
    int at = op->first;
    c.op = op;
    c.in_place = op->in_place;
    c.requires_grad = false;
    do {
        if (pt_overload(op, at, &o) && bind(&c, &o, n, n_kw, args, false)) {
            const mp_obj_t result = o.kernel(&c);
            if (c.requires_grad) {
                pt_tensor(result)->requires_grad = true;
            }
            return result;
        }
    } while (!pt_overloads[at++].last);
    if (complex_op) {
        const mp_obj_t result = overridden(op, n, n_kw, args);
        if (result != MP_OBJ_NULL) {
            return result;
        }
    }
    complain(&c, n, n_kw, args);
}

mp_obj_t pt_call(const pt_op_t *op, size_t n, size_t n_kw, const mp_obj_t *args)
{
    PT_RECORD_CALL(op->name);
    if (PT_HAS_ROWS && op->quick && n_kw == 0 && n - 1 < 2 && pt_is_tensor(args[0]) && pt_is_tensor(args[n - 1])) {
        const pt_pointwise_t *row = pt_rows[pt_overloads[op->first].data];
        const mp_obj_t result =
            row->arity != n ? MP_OBJ_NULL : pt_quick(row, op->in_place, pt_tensor(args[0]), pt_tensor(args[n - 1]));
        if (result != MP_OBJ_NULL) {
            return result;
        }
    }
    return call(op, n, n_kw, args);
}

/* ---- operators as objects ---------------------------------------------------------------------------------------- */

typedef struct {
    mp_obj_base_t base;
    pt_op_t op;
    uint8_t place;
} callable_t;

static mp_obj_t op_call(mp_obj_t self, size_t n, size_t n_kw, const mp_obj_t *args)
{
    return pt_call(&((callable_t *)MP_OBJ_TO_PTR(self))->op, n, n_kw, args);
}

static void op_print(const mp_print_t *print, mp_obj_t self, mp_print_kind_t kind)
{
    (void)kind;
    mp_printf(print, "<built-in method %q>", ((callable_t *)MP_OBJ_TO_PTR(self))->op.name);
}

static MP_DEFINE_CONST_OBJ_TYPE(
    op_type, MP_QSTR_builtin_function, MP_TYPE_FLAG_BINDS_SELF, call, op_call, print, op_print);

void pt_describe(mp_obj_t o, mp_print_kind_t kind)
{
    if (mp_obj_is_type(o, &op_type)) {
        pt_print_overloads(MP_PYTHON_PRINTER, &((callable_t *)MP_OBJ_TO_PTR(o))->op);
    } else {
        mp_obj_print(o, kind);
    }
}

static const pt_op_t *find(qstr name, int place)
{
    const pt_op_t *op = pt_ops + (place == PT_IN_PARTS ? PT_OWN_FUNCTIONS : 0);
    const pt_op_t *end = pt_ops
        + (place == PT_IN_TORCH        ? PT_OWN_FUNCTIONS
                : place == PT_IN_PARTS ? PT_FUNCTIONS
                                       : PT_OPERATORS);
    while (op < end && (op->name != name || (place == PT_IN_TENSOR && !op->method))) {
        op++;
    }
    return op < end ? op : NULL;
}

/* `name_` in place, if there is a `name` that supports it. */
static const pt_op_t *find_changed(qstr name, int place)
{
    size_t length;
    const char *text = (const char *)qstr_data(name, &length);
    if (length < 2 || text[length - 1] != '_') {
        return NULL;
    }
    const pt_op_t *op = find(qstr_find_strn(text, length - 1), place);
    return op && (place == PT_IN_TENSOR ? op->method_ : op->function_) ? op : NULL;
}

/* Objects are created on first use; the last few are kept, so that a loop creates none. */
#define RECENT 32

mp_obj_t pt_operator(qstr name, int place)
{
    #if MICROPY_MODULE_BUILTIN_INIT
    callable_t **recent = (callable_t **)&MP_STATE_VM(pt_recent)[name % RECENT];
    if (*recent && (*recent)->op.name == name && (*recent)->place == place) {
        return MP_OBJ_FROM_PTR(*recent);
    }
    #endif
    const pt_op_t *op = find(name, place);
    const bool changed = PT_HAS_CHANGES && !op;
    if (changed) {
        op = find_changed(name, place);
    }
    if (!op) {
        return MP_OBJ_NULL;
    }
    callable_t *made = mp_obj_malloc(callable_t, &op_type);
    made->op = *op;
    made->op.name = (uint16_t)name;
    made->op.in_place |= changed;
    made->op.function = place != PT_IN_TENSOR;
    made->place = (uint8_t)place;
    #if MICROPY_MODULE_BUILTIN_INIT
    *recent = made;
    #endif
    return MP_OBJ_FROM_PTR(made);
}

#if MICROPY_MODULE_BUILTIN_INIT
/* `import` calls this; until then, the kept objects may be from before a reset. */
static mp_obj_t forget(void)
{
    memset(MP_STATE_VM(pt_recent), 0, sizeof(MP_STATE_VM(pt_recent)));
    return mp_const_none;
}
MP_DEFINE_CONST_FUN_OBJ_0(pt_forget_obj, forget);
MP_REGISTER_ROOT_POINTER(void *pt_recent[32]);
#endif
