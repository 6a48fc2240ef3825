/* The parts of the parser of calls. */
#ifndef PT_CALL_H
#define PT_CALL_H

#include "tensor.h"

#include "generated/tables.h"

/* Whether any operator takes an argument of that type. */
#define PT_USES(type) (PT_STREAM || (PT_KINDS >> PT_ARG_##type & 1))

static inline bool pt_is_number(mp_obj_t o) { return pt_number_dtype(o) >= 0; }
bool pt_is_index(mp_obj_t o); /* an int, or a tensor without dimensions that holds one */

/* Whether an object computes operators itself: its method, for mp_call_method_n_kw. */
bool pt_has_function(mp_obj_t o, mp_obj_t *method);

/* An argument converted to a parameter's kind: false if it does not fit. */
bool pt_accept(pt_call_t *c, const pt_kind_t *kind, pt_arg_t *arg, mp_obj_t o);
bool pt_accept_ints(pt_call_t *c, pt_arg_t *arg, size_t count, const mp_obj_t *items);
void pt_accept_default(pt_call_t *c, const pt_kind_t *kind, pt_arg_t *arg);

/* Reads an overload from the tables; false if a function is called and it is not one, likewise for methods. */
bool pt_overload(const pt_op_t *op, int number, pt_overload_t *o);
/* How many arguments self takes up. */
static inline int pt_self(const pt_op_t *op) { return !op->function; }

/* `position` counts from 0, without self of a method; -1 for a keyword. */
NORETURN void pt_wrong_type(const pt_op_t *op, const pt_param_t *p, int position, mp_obj_t given);
NORETURN void pt_no_overload(const pt_op_t *op, size_t n, size_t n_kw, const mp_obj_t *args);
const char *pt_type_name(int type);
void pt_print_overloads(const mp_print_t *print, const pt_op_t *op); /* as help() shows them, one per line */
static inline qstr pt_public_name(const pt_param_t *p)
{
    return pt_names[p->name] == MP_QSTR_self ? MP_QSTR_input : pt_names[p->name];
}

#endif
