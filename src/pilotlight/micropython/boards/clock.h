/* What a board counts time with. */
#include <stdint.h>

uint64_t board_ticks(void); /* since it was switched on, BOARD_HZ of them a second */
