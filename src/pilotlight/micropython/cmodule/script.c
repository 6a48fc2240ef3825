/* The source code in TorchScript archives, checked and as MicroPython's compiler takes it. Words that could leave
 * TorchScript are refused: whatever else is written there can only use the names that the archive is given. Dictionaries
 * become calls, because those of MicroPython have no order; so do numbers of types (dtype=6), and types become text. */
#include "tensor.h"

#define DEEPEST 60 /* brackets in brackets */

static const char refused[] = " import from del global nonlocal lambda yield async await try except finally raise ";
static const char typed[] = " annotate unchecked_cast uninitialized ";
/* between underscores */
static const char known[] = " torch parameters buffers init new setstate getstate enter exit call len getitem setitem "
                            "delitem contains is isnot "
                            "not and or xor lshift rshift add sub mul truediv floordiv mod pow matmul neg abs invert "
                            "eq ne lt le gt ge str float "
                            "int bool ";

typedef struct {
    const byte *start, *at, *end;
    vstr_t out;
    int depth;
    byte open[DEEPEST]; /* the bracket; its highest bit: what is in it up to a comma is inside one more */
} source_t;

static bool listed(const char *words, const byte *word, size_t length)
{
    for (; words[1]; words = strchr(words + 1, ' ')) {
        if ((size_t)(strchr(words + 1, ' ') - words) == length + 1 && !memcmp(words + 1, word, length)) {
            return true;
        }
    }
    return false;
}

static NORETURN void refuse(const source_t *s, const byte *at, size_t length)
{
    int line = 1;
    for (const byte *p = s->start; p < at; p++) {
        line += *p == '\n';
    }
    const bool shown = *at > ' ' && *at <= '~';
    mp_raise_msg_varg(
        &mp_type_ValueError, MP_ERROR_TEXT("%d: %.*s"), line, shown ? (int)length : 1, shown ? (const char *)at : "?");
}

static bool in_word(byte c) { return ((c | 32) >= 'a' && (c | 32) <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

static void put(source_t *s, const void *text, size_t length) { vstr_add_strn(&s->out, text, length); }

static void open_bracket(source_t *s, byte c)
{
    if (s->depth == DEEPEST) {
        refuse(s, s->at, 1);
    }
    s->open[s->depth++] = c;
    s->at++;
}

static byte peek(const source_t *s) { return s->at < s->end ? *s->at : '\n'; }

static void text(source_t *s)
{
    const byte *start = s->at++;
    const byte quote = *start;
    if (start > s->start && in_word(start[-1])) {
        refuse(s, start, 1); /* of another kind */
    }
    for (; peek(s) != quote; s->at++) {
        if (peek(s) == '\\') {
            s->at++;
        }
        if (peek(s) == '\n' || peek(s) == '\r') {
            refuse(s, start, 1);
        }
    }
    s->at++;
    if (s->at == start + 2 && peek(s) == quote) {
        refuse(s, start, 3);
    }
    put(s, start, (size_t)(s->at - start));
}

static void skip_line(source_t *s)
{
    while (peek(s) != '\n') {
        s->at++;
    }
}

/* A type up to a comma or the bracket that closes its own, as text. */
static void type(source_t *s)
{
    const byte *start = s->at;
    int depth = 0;
    for (; depth || (peek(s) != ',' && peek(s) != ')'); s->at++) {
        const byte c = peek(s);
        if (!in_word(c) && (!c || !strchr(" .,[]()", c))) {
            refuse(s, s->at, 1);
        }
        depth += (c == '[' || c == '(') - (c == ']' || c == ')');
        if (depth < 0) {
            refuse(s, s->at, 1);
        }
    }
    put(s, "\"", 1);
    put(s, start, (size_t)(s->at - start));
    put(s, "\"", 1);
}

static void word(source_t *s)
{
    const byte *start = s->at;
    while (in_word(peek(s))) {
        s->at++;
    }
    const size_t length = (size_t)(s->at - start);
    if (listed(refused, start, length)) {
        refuse(s, start, length);
    }
    if (length > 4 && !memcmp(start, "__", 2) && !memcmp(s->at - 2, "__", 2)) {
        if (length == 15 && !memcmp(start, "__annotations__", 15)) {
            skip_line(s);
            put(s, "pass", 4);
            return;
        }
        const int changed = start[2] == 'i' && !listed(known, start + 2, length - 4); /* __iadd__ */
        if (!listed(known, start + 2 + changed, length - 4 - (size_t)changed)) {
            refuse(s, start, length);
        }
    }
    put(s, start, length);
    const bool named = start > s->start && start[-1] == '.';
    if (!named && peek(s) == '(' && listed(typed, start, length)) {
        put(s, "(", 1);
        open_bracket(s, '(');
        type(s);
    } else if (!named && peek(s) == '(' && length == 10 && !memcmp(start, "isinstance", 10)) {
        put(s, "(", 1);
        open_bracket(s, 'i');
    } else if (length == 5 && !memcmp(start, "dtype", 5) && peek(s) == '=' && s->depth
        && s->open[s->depth - 1] == '(') {
        put(s, "=__dtype(", 9);
        s->at++;
        s->open[s->depth - 1] |= 0x80;
    }
}

static void sign(source_t *s)
{
    const byte c = *s->at;
    byte *open = s->depth ? &s->open[s->depth - 1] : NULL;
    if (open && *open & 0x80 && (c == ',' || c == ')')) { /* __dtype( ends here */
        put(s, ")", 1);
        *open &= 0x7f;
    }
    switch (c) {
        case '(':
        case '[':
        case '{':
            put(s, c == '{' ? "__dict(" : (const char *)&c, c == '{' ? 7 : 1);
            open_bracket(s, c);
            return;
        case ')':
        case ']':
        case '}':
            if (!open) {
                refuse(s, s->at, 1);
            }
            s->depth--;
            put(s, c == '}' ? ")" : (const char *)&c, 1);
            break;
        case ':':
            put(s, open && *open == '{' ? "," : ":", 1);
            break;
        case ',':
            put(s, ",", 1);
            if (open && *open == 'i') {
                *open = '(';
                s->at++;
                type(s);
                return;
            }
            break;
        default:
            if (!c || !strchr("\n .=-+<>!*/%&|^~", c)) {
                refuse(s, s->at, 1);
            }
            if (c == '\n' && s->at + 1 < s->end && s->at[1] != ' ' && s->at[1] != '\n') {
                refuse(s, s->at + 1, 1); /* outside the class or function */
            }
            put(s, &c, 1);
    }
    s->at++;
}

/* _jit_source(text): the same for MicroPython. */
mp_obj_t pt_do_jit_source(pt_call_t *c)
{
    mp_buffer_info_t data;
    source_t s = {.depth = 0};
    mp_get_buffer_raise(c->args[0].object, &data, MP_BUFFER_READ);
    s.start = s.at = data.buf;
    s.end = s.start + data.len;
    vstr_init(&s.out, data.len + data.len / 8);
    while (s.at < s.end) {
        const byte b = *s.at;
        if (b == '"' || b == '\'') {
            text(&s);
        } else if (b == '#') {
            skip_line(&s);
        } else if (in_word(b)) {
            word(&s);
        } else {
            sign(&s);
        }
    }
    return mp_obj_new_str_from_utf8_vstr(&s.out);
}
