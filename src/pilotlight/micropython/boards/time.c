/* The module `time`, which MicroPython's qemu port leaves out: its own file, with the clock of the board. */
#include "py/mphal.h"
#include "py/runtime.h"

#include "clock.h"

#undef MICROPY_PY_TIME
#define MICROPY_PY_TIME 1
#undef MICROPY_PY_TIME_TIME_TIME_NS
#define MICROPY_PY_TIME_TIME_TIME_NS 1

static uint64_t nanoseconds(void)
{
    const uint64_t ticks = board_ticks();
    return ticks / BOARD_HZ * 1000000000u + ticks % BOARD_HZ * 1000000000u / BOARD_HZ;
}

uint64_t mp_hal_time_ns(void) { return nanoseconds(); }

mp_uint_t mp_hal_ticks_ms(void) { return (mp_uint_t)(nanoseconds() / 1000000); }

mp_uint_t mp_hal_ticks_us(void) { return (mp_uint_t)(nanoseconds() / 1000); }

mp_uint_t mp_hal_ticks_cpu(void) { return (mp_uint_t)board_ticks(); }

static void wait(uint64_t duration)
{
    const uint64_t start = nanoseconds();
    while (nanoseconds() - start < duration) {
        mp_handle_pending(true);
    }
}

void mp_hal_delay_ms(mp_uint_t ms) { wait((uint64_t)ms * 1000000); }

void mp_hal_delay_us(mp_uint_t us) { wait((uint64_t)us * 1000); }

/* Seconds since the board was switched on: it does not know the date. */
static mp_obj_t mp_time_time_get(void)
{
    return mp_obj_new_float((mp_float_t)(nanoseconds() / 1000) / (mp_float_t)1e6);
}

#include "extmod/modtime.c"
