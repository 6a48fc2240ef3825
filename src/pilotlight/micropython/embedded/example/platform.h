/* What the example needs of a computer or a board. */
#ifndef PLATFORM_H
#define PLATFORM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void platform_print(const char *text, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
