#include "files.h"

#include <string.h>

#include "py/builtin.h"
#include "py/lexer.h"
#include "py/mperrno.h"
#include "py/reader.h"
#include "py/runtime.h"
#include "py/stream.h"

static const interpreter_file *files;
static size_t file_count;

void files_are(const interpreter_file *array, size_t count)
{
    files = array;
    file_count = count;
}

static const interpreter_file *find(const char *name)
{
    for (size_t k = 0; k < file_count; k++) {
        if (strcmp(files[k].name, name) == 0) {
            return &files[k];
        }
    }
    return NULL;
}

static uint32_t four_bytes(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* The directory of an archive, which is before the last 22 bytes, then names constants.pkl. */
bool files_have_script(const char *name)
{
    static const char wanted[] = "/constants.pkl";
    const interpreter_file *file = find(name);
    if (!file || file->bytes < 22) {
        return false;
    }
    const uint8_t *data = file->data;
    const size_t end = file->bytes - 22, length = four_bytes(data + end + 12), start = four_bytes(data + end + 16);
    if (start > end || length > end - start) {
        return false;
    }
    for (size_t k = 0; k + sizeof(wanted) - 1 <= length; k++) {
        if (memcmp(data + start + k, wanted, sizeof(wanted) - 1) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- import ----------------------------------------------------------------------------------------------------- */

mp_import_stat_t mp_import_stat(const char *path)
{
    const size_t length = strlen(path);
    if (find(path)) {
        return MP_IMPORT_STAT_FILE;
    }
    for (size_t k = 0; k < file_count; k++) {
        if (strncmp(files[k].name, path, length) == 0 && files[k].name[length] == '/') {
            return MP_IMPORT_STAT_DIR;
        }
    }
    return MP_IMPORT_STAT_NO_EXIST;
}

void mp_reader_new_file(mp_reader_t *reader, qstr name)
{
    const interpreter_file *file = find(qstr_str(name));
    if (!file) {
        mp_raise_OSError_with_filename(MP_ENOENT, qstr_str(name));
    }
    mp_reader_new_mem(reader, file->data, file->bytes, MP_READER_IS_ROM);
}

mp_lexer_t *mp_lexer_new_from_file(qstr name)
{
    mp_reader_t reader;
    mp_reader_new_file(&reader, name);
    return mp_lexer_new(name, reader);
}

/* ---- open ------------------------------------------------------------------------------------------------------- */

typedef struct {
    mp_obj_base_t base;
    const interpreter_file *file;
    size_t at;
} open_file_t;

static mp_int_t get_buffer(mp_obj_t self, mp_buffer_info_t *info, mp_uint_t flags)
{
    const open_file_t *o = MP_OBJ_TO_PTR(self);
    if (flags != MP_BUFFER_READ) {
        return 1;
    }
    info->buf = (void *)o->file->data;
    info->len = o->file->bytes;
    info->typecode = 'B';
    return 0;
}

static mp_uint_t file_read(mp_obj_t self, void *to, mp_uint_t size, int *error)
{
    open_file_t *o = MP_OBJ_TO_PTR(self);
    const size_t left = o->file->bytes - o->at, count = size < left ? size : left;
    (void)error;
    memcpy(to, (const uint8_t *)o->file->data + o->at, count);
    o->at += count;
    return count;
}

static mp_uint_t file_ioctl(mp_obj_t self, mp_uint_t request, uintptr_t argument, int *error)
{
    open_file_t *o = MP_OBJ_TO_PTR(self);
    struct mp_stream_seek_t *seek = (struct mp_stream_seek_t *)argument;
    if (request == MP_STREAM_CLOSE) {
        return 0;
    }
    *error = MP_EINVAL;
    if (request != MP_STREAM_SEEK) {
        return MP_STREAM_ERROR;
    }
    const size_t from = seek->whence == MP_SEEK_SET ? 0 : seek->whence == MP_SEEK_CUR ? o->at : o->file->bytes;
    if (seek->offset < 0 ? (size_t)-seek->offset > from : (size_t)seek->offset > o->file->bytes - from) {
        return MP_STREAM_ERROR;
    }
    o->at = from + (size_t)seek->offset;
    seek->offset = (mp_off_t)o->at;
    return 0;
}

static const mp_rom_map_elem_t methods_table[] = {
    {MP_ROM_QSTR(MP_QSTR_read), MP_ROM_PTR(&mp_stream_read_obj)},
    {MP_ROM_QSTR(MP_QSTR_readinto), MP_ROM_PTR(&mp_stream_readinto_obj)},
    {MP_ROM_QSTR(MP_QSTR_readline), MP_ROM_PTR(&mp_stream_unbuffered_readline_obj)},
    {MP_ROM_QSTR(MP_QSTR_readlines), MP_ROM_PTR(&mp_stream_unbuffered_readlines_obj)},
    {MP_ROM_QSTR(MP_QSTR_seek), MP_ROM_PTR(&mp_stream_seek_obj)},
    {MP_ROM_QSTR(MP_QSTR_tell), MP_ROM_PTR(&mp_stream_tell_obj)},
    {MP_ROM_QSTR(MP_QSTR_close), MP_ROM_PTR(&mp_stream_close_obj)},
    {MP_ROM_QSTR(MP_QSTR___enter__), MP_ROM_PTR(&mp_identity_obj)},
    {MP_ROM_QSTR(MP_QSTR___exit__), MP_ROM_PTR(&mp_stream___exit___obj)},
};
static MP_DEFINE_CONST_DICT(methods, methods_table);

static const mp_stream_p_t binary_stream = {.read = file_read, .ioctl = file_ioctl};
static const mp_stream_p_t text_stream = {.read = file_read, .ioctl = file_ioctl, .is_text = true};

static MP_DEFINE_CONST_OBJ_TYPE(binary_type, MP_QSTR_FileIO, MP_TYPE_FLAG_ITER_IS_STREAM, buffer, get_buffer, protocol,
    &binary_stream, locals_dict, &methods);
static MP_DEFINE_CONST_OBJ_TYPE(
    text_type, MP_QSTR_TextIOWrapper, MP_TYPE_FLAG_ITER_IS_STREAM, protocol, &text_stream, locals_dict, &methods);

static mp_obj_t open_file(size_t n, const mp_obj_t *args, mp_map_t *keywords)
{
    static const mp_arg_t allowed[] = {
        {MP_QSTR_file, MP_ARG_OBJ | MP_ARG_REQUIRED, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_mode, MP_ARG_OBJ, {.u_rom_obj = MP_ROM_QSTR(MP_QSTR_r)}},
        {MP_QSTR_encoding, MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
    };
    mp_arg_val_t values[MP_ARRAY_SIZE(allowed)];
    mp_arg_parse_all(n, args, keywords, MP_ARRAY_SIZE(allowed), allowed, values);
    const char *name = mp_obj_str_get_str(values[0].u_obj), *mode = mp_obj_str_get_str(values[1].u_obj);
    const interpreter_file *file = find(name);
    if (strpbrk(mode, "wax+")) {
        mp_raise_OSError_with_filename(MP_EROFS, name);
    }
    if (!file) {
        mp_raise_OSError_with_filename(MP_ENOENT, name);
    }
    open_file_t *o = mp_obj_malloc(open_file_t, strchr(mode, 'b') ? &binary_type : &text_type);
    o->file = file;
    o->at = 0;
    return MP_OBJ_FROM_PTR(o);
}
MP_DEFINE_CONST_FUN_OBJ_KW(mp_builtin_open_obj, 1, open_file);
