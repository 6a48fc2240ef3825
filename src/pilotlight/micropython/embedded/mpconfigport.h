/* MicroPython as the interpreter of interpreter.h. The headers in genhdr/ are made for these settings: to change one,
 * change it in a copy of Pilotlight and export again. */
#include <port/mpconfigport_common.h>

#define MICROPY_CONFIG_ROM_LEVEL (MICROPY_CONFIG_ROM_LEVEL_EXTRA_FEATURES)
#define MICROPY_ENABLE_COMPILER (1)
#define MICROPY_ENABLE_GC (1)
#define MICROPY_ENABLE_EMERGENCY_EXCEPTION_BUF (1)
#define MICROPY_FLOAT_IMPL (MICROPY_FLOAT_IMPL_FLOAT)
#define MICROPY_LONGINT_IMPL (MICROPY_LONGINT_IMPL_MPZ)
#define MPZ_DIG_SIZE (16) /* one frozen_content.c for 32 and for 64 bits */
#define MICROPY_PERSISTENT_CODE_LOAD (1)
#define MICROPY_HAS_FILE_READER (1)
#define MICROPY_WARNINGS (1)
#define MICROPY_PY_SYS_PLATFORM "embedded"
#ifndef MICROPY_ROM_TEXT_COMPRESSION /* MicroPython's own makefiles define this, and the next */
#define MICROPY_ROM_TEXT_COMPRESSION (1)
#endif
#ifndef MICROPY_QSTR_EXTRA_POOL
#define MICROPY_QSTR_EXTRA_POOL mp_qstr_frozen_const_pool
#define MICROPY_MODULE_FROZEN_MPY (1)
#define MICROPY_MODULE_FROZEN_STR (1)
#endif

/* What needs a port of its own: clocks, files, a terminal. */
#define MICROPY_PY_ASYNCIO (0)
#define MICROPY_PY_BINASCII (0)
#define MICROPY_PY_BUILTINS_HELP (0)
#define MICROPY_PY_BUILTINS_INPUT (0)
#define MICROPY_PY_CRYPTOLIB (0)
#define MICROPY_PY_FRAMEBUF (0)
#define MICROPY_PY_HASHLIB (0)
#define MICROPY_PY_MACHINE (0)
#define MICROPY_PY_ONEWIRE (0)
#define MICROPY_PY_OS (0)
#define MICROPY_PY_PLATFORM (0)
#define MICROPY_PY_SELECT (0)
#define MICROPY_PY_SYS_STDIO_BUFFER (0)
#define MICROPY_PY_TIME (0)
#define MICROPY_PY_VFS (0)
#define MICROPY_PY_WEBSOCKET (0)

#define MICROPY_KBD_EXCEPTION (0)

#define MP_SSIZE_MAX INTPTR_MAX
#define MP_STATE_PORT MP_STATE_VM
