/* PyTorch's text of a tensor, from the bits of its elements. Two passes over what is shown: one finds the format that
 * all elements share, the other prints; neither needs memory. */
#include "repr.h"

/* Kept as differences from the defaults, so that zeros at start mean these; plain numbers, no pointers. */
MP_REGISTER_ROOT_POINTER(uint32_t pt_print_options[5]);

enum { PRECISION, THRESHOLD, EDGEITEMS, LINEWIDTH, SCI_MODE };
static const uint32_t defaults[] = {4, 1000, 3, 80, 2 /* 0 and 1: as set, 2: as the elements need it */};

static int32_t option(int which) { return (int32_t)(MP_STATE_VM(pt_print_options)[which] ^ defaults[which]); }

static void set_option(int which, int32_t value)
{
    MP_STATE_VM(pt_print_options)[which] = (uint32_t)value ^ defaults[which];
}

typedef struct {
    const mp_print_t *print; /* NULL: look at the elements only */
    const pt_tensor_t *t;
    bool summarize;
    bool seen, whole, sci; /* any finite number but zero; all of them are whole; scientific notation */
    int width, column;
    uint32_t least, most[2]; /* bits of magnitudes; the greatest by sign */
    int64_t low, high;       /* of integers */
} repr_t;

/* ---- one element ----------------------------------------------------------------------------------------------- */

static void look(repr_t *r, const uint8_t *data)
{
    pt_chunk_t v;
    pt_load(data, r->t->dtype, 1, pt_compute(r->t->dtype), &v, 1);
    if (!pt_is_float(r->t->dtype)) {
        r->low = v.i[0] < r->low ? v.i[0] : r->low;
        r->high = v.i[0] > r->high ? v.i[0] : r->high;
        return;
    }
    uint32_t bits;
    memcpy(&bits, &v.f[0], sizeof(bits));
    const int sign = (int)(bits >> 31);
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude == 0 || magnitude >= 0x7f800000) {
        return;
    }
    const int shift = 150 - (int)(magnitude >> 23); /* bits after the point */
    r->seen = true;
    r->whole = r->whole && (shift <= 0 || (shift < 24 && (magnitude & ((1u << shift) - 1)) == 0));
    r->least = magnitude < r->least ? magnitude : r->least;
    r->most[sign] = magnitude > r->most[sign] ? magnitude : r->most[sign];
}

static int element_text(const repr_t *r, const uint8_t *data, char *text)
{
    pt_chunk_t v;
    const int dtype = r->t->dtype;
    pt_load(data, dtype, 1, pt_compute(dtype), &v, 1);
    if (dtype == PT_BOOL) {
        strcpy(text, v.i[0] ? "True" : "False");
        return v.i[0] ? 4 : 5;
    }
    if (!pt_is_float(dtype)) {
        return pt_int_text(v.i[0], text);
    }
    uint32_t bits;
    memcpy(&bits, &v.f[0], sizeof(bits));
    int n = pt_float_text(bits, r->sci || !r->whole ? option(PRECISION) : 0, r->sci, text);
    if (r->whole && !r->sci && (bits & 0x7f800000) != 0x7f800000) {
        text[n++] = '.';
    }
    return n;
}

/* Whether one magnitude is more than 1000 times the other: exactly, from their bits. */
static bool thousandfold(uint32_t most, uint32_t least)
{
    const int exponents[] = {(int)(most >> 23), (int)(least >> 23)};
    const uint32_t a = (most & 0x7fffff) | (exponents[0] ? 0x800000 : 0);
    const uint32_t b = (least & 0x7fffff) | (exponents[1] ? 0x800000 : 0);
    const int shift = (exponents[0] ? exponents[0] : 1) - (exponents[1] ? exponents[1] : 1);
    return shift > 20 || (uint64_t)a << shift > (uint64_t)b * 1000;
}

#define BITS_1E8 0x4cbebc20u
#define BITS_1E_4 0x38d1b717u /* the greatest float32 below 1e-4 */

/* The notation and the width that all elements get. Among numbers of one sign the greatest is the longest. */
static void choose(repr_t *r)
{
    char text[PT_TEXT];
    r->width = 1;
    if (r->t->dtype == PT_BOOL) {
        r->width = r->low ? 4 : 5;
    } else if (!pt_is_float(r->t->dtype)) {
        const int low = pt_int_text(r->low, text), high = pt_int_text(r->high, text);
        r->width = low > high ? low : high;
    } else if (r->seen) {
        const uint32_t most = r->most[0] > r->most[1] ? r->most[0] : r->most[1];
        const int mode = option(SCI_MODE);
        r->sci = mode == 2 ? thousandfold(most, r->least) || most > BITS_1E8 || r->least <= BITS_1E_4 : mode == 1;
        for (int sign = 0; sign < 2; sign++) {
            if (r->most[sign]) {
                const uint32_t bits = r->most[sign] | (uint32_t)sign << 31;
                int n = pt_float_text(bits, r->sci || !r->whole ? option(PRECISION) : 0, r->sci, text);
                n += r->whole && !r->sci;
                r->width = n > r->width ? n : r->width;
            }
        }
    }
}

/* ---- all of them ----------------------------------------------------------------------------------------------- */

static void put(repr_t *r, const char *text, int n)
{
    if (r->print) {
        mp_print_strn(r->print, text, (size_t)n, 0, ' ', 0);
        r->column += n;
    }
}

static void new_line(repr_t *r, int lines, int indent)
{
    if (r->print) {
        for (; lines > 0; lines--) {
            mp_print_str(r->print, "\n");
        }
        mp_print_strn(r->print, "", 0, 0, ' ', indent);
        r->column = indent;
    }
}

static void put_element(repr_t *r, const uint8_t *data)
{
    char text[PT_TEXT];
    if (!r->print) {
        look(r, data);
        return;
    }
    const int n = element_text(r, data, text);
    if (n < r->width) {
        mp_print_strn(r->print, "", 0, 0, ' ', r->width - n);
        r->column += r->width - n;
    }
    put(r, text, n);
}

static void put_dim(repr_t *r, int dim, const uint8_t *data, int indent)
{
    const pt_tensor_t *t = r->t;
    const int edge = option(EDGEITEMS);
    if (dim == t->ndim) {
        put_element(r, data);
        return;
    }
    const bool last = dim == t->ndim - 1;
    const int32_t size = t->dims[dim];
    const ptrdiff_t step = (ptrdiff_t)t->dims[t->ndim + dim] * pt_size(t->dtype);
    const int room = (option(LINEWIDTH) - indent) / (r->width + 2), per_line = room > 1 ? room : 1;
    put(r, "[", 1);
    int shown = 0;
    for (int32_t k = 0; k < size; k++, shown++) {
        if (shown && last && shown % per_line != 0) {
            put(r, ", ", 2);
        } else if (shown) {
            put(r, ",", 1);
            new_line(r, last ? 1 : t->ndim - dim - 1, indent + 1);
        }
        if (r->summarize && k == edge && size > 2 * edge) {
            put(r, " ..." + (last && edge ? 0 : 1), last && edge ? 4 : 3);
            k = size - edge - 1;
        } else {
            put_dim(r, dim + 1, data + k * step, indent + 1);
        }
        if (shown % 1024 == 0) {
            pt_poll();
        }
    }
    put(r, "]", 1);
}

/* dtype=..., size=... and requires_grad=..., on their own line if they do not fit. */
static void suffix(repr_t *r, const char *text, qstr name)
{
    const int n = (int)(strlen(text) + (name ? qstr_len(name) : 0));
    if (r->column + n + 2 > option(LINEWIDTH)) {
        mp_print_str(r->print, ",\n       ");
        r->column = 7 + n;
    } else {
        mp_print_str(r->print, ", ");
        r->column += n + 2;
    }
    mp_print_str(r->print, text);
    if (name) {
        mp_print_str(r->print, qstr_str(name));
    }
}

static void shape_suffix(repr_t *r)
{
    vstr_t text;
    mp_print_t print;
    vstr_init_print(&text, 16, &print);
    mp_print_str(&print, "size=(");
    for (int d = 0; d < r->t->ndim; d++) {
        mp_printf(&print, d ? ", %d" : "%d", (int)r->t->dims[d]);
    }
    mp_print_str(&print, r->t->ndim == 1 ? ",)" : ")");
    suffix(r, vstr_null_terminated_str(&text), 0);
    vstr_clear(&text);
}

void pt_print(const mp_print_t *print, mp_obj_t self, mp_print_kind_t kind)
{
    const pt_tensor_t *t = pt_tensor(self);
    const int32_t count = pt_numel(t), threshold = option(THRESHOLD);
    repr_t r = {.t = t,
        .summarize = threshold >= 0 && count > threshold,
        .whole = true,
        .least = UINT32_MAX,
        .low = INT64_MAX,
        .high = INT64_MIN};
    (void)kind;
    if (t->base.type == &pt_parameter_type) {
        mp_print_str(print, "Parameter containing:\n");
    }
    mp_print_str(print, "tensor(");
    if (count == 0) {
        r.print = print;
        r.column = 7;
        put(&r, "[]", 2);
    } else {
        put_dim(&r, 0, t->data, 7);
        choose(&r);
        r.print = print;
        r.column = 7;
        put_dim(&r, 0, t->data, 7);
    }
    r.column += 2; /* as PyTorch counts what it adds to the last line */
    if (count == 0 ? t->ndim != 1 : option(EDGEITEMS) == 0) {
        shape_suffix(&r);
    }
    if (t->dtype != PT_FLOAT32 && (count == 0 || (t->dtype != PT_INT64 && t->dtype != PT_BOOL))) {
        suffix(&r, "dtype=torch.", pt_dtypes[t->dtype].name);
    }
    if (t->requires_grad) {
        suffix(&r, "requires_grad=True", 0);
    }
    mp_print_str(print, ")");
}

/* ---- options --------------------------------------------------------------------------------------------------- */

/* set_printoptions(precision, threshold, edgeitems, linewidth, profile, sci_mode) */
mp_obj_t pt_do_set_printoptions(pt_call_t *c)
{
    const pt_arg_t *profile = &c->args[4], *sci = &c->args[5];
    if (profile->given) {
        const qstr name = mp_obj_str_get_qstr(profile->object);
        set_option(PRECISION, name == MP_QSTR_short ? 2 : 4);
        set_option(THRESHOLD, name == MP_QSTR_full ? -1 : 1000);
        set_option(EDGEITEMS, name == MP_QSTR_short ? 2 : 3);
        set_option(LINEWIDTH, 80);
    }
    for (int k = PRECISION; k <= LINEWIDTH; k++) {
        const mp_obj_t given = c->args[k].object;
        if (c->args[k].given && mp_obj_is_float(given)) { /* threshold=inf */
            const mp_float_t x = mp_obj_get_float(given);
            set_option(k, x >= (mp_float_t)1000000000 ? -1 : (int32_t)x);
        } else if (c->args[k].given) {
            const mp_int_t value = mp_obj_get_int(given), most = k == PRECISION ? PT_DECIMALS : INT32_MAX;
            set_option(k, (int32_t)(value < 0 ? 0 : value > most ? most : value));
        }
    }
    set_option(SCI_MODE, sci->given ? sci->v.i != 0 : 2);
    return mp_const_none;
}

mp_obj_t pt_do_repr(pt_call_t *c)
{
    vstr_t text;
    mp_print_t print;
    vstr_init_print(&text, 64, &print);
    pt_print(&print, c->args[0].object, PRINT_REPR);
    return mp_obj_new_str_from_vstr(&text);
}
