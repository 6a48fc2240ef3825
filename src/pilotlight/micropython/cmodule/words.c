/* _expand(line): a line of a packed block, in which a byte from 128 on stands for a word of a table. */
#include "packed.h"

#if PT_STREAM
static const byte words[] = {PT_WORDS}; /* the last letter of each has its highest bit set */

static mp_obj_t expand(mp_obj_t line)
{
    size_t length;
    const byte *text = (const byte *)mp_obj_str_get_data(line, &length);
    vstr_t made;
    vstr_init(&made, 2 * length);
    for (; length; length--, text++) {
        const byte *from = text;
        if (*text > 127) {
            from = words;
            for (int k = *text; k > 128; k--) {
                while (*from++ < 128) {
                }
            }
            for (; *from < 128; from++) {
                vstr_add_byte(&made, *from);
            }
        }
        vstr_add_byte(&made, *from & 127);
    }
    return mp_obj_new_bytes_from_vstr(&made);
}
MP_DEFINE_CONST_FUN_OBJ_1(pt_expand_obj, expand);
#endif
