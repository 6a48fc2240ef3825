/* Characters received: the interrupt keeps them until they are read, except the one that interrupts a program. */
#include <stdint.h>

#include "py/runtime.h"
#include "py/stackctrl.h"
#include "shared/runtime/interrupt_char.h"
#include "uart.h"

#define RECEIVED 256
#define STACK_LIMIT (48 * 1024)

static volatile uint8_t received[RECEIVED];
static volatile uint32_t first, last; /* indices keep counting; a character's place is its index modulo RECEIVED */

static inline int is_full(void) { return last - first == RECEIVED; }

static inline void receive(int character)
{
    if (character == mp_interrupt_char) {
        mp_sched_keyboard_interrupt();
    } else {
        received[last % RECEIVED] = (uint8_t)character;
        last++;
    }
}

static inline int take(void)
{
    const int character = received[first % RECEIVED];
    first++;
    return character;
}

void __real_mp_stack_set_limit(mp_uint_t limit);
void __wrap_mp_stack_set_limit(mp_uint_t limit);
void __wrap_mp_stack_set_limit(mp_uint_t limit)
{
    __real_mp_stack_set_limit(limit > STACK_LIMIT ? limit : STACK_LIMIT);
}
