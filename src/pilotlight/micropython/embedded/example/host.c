/* A computer. */
#include "platform.h"

#include <stdio.h>

void platform_print(const char *text, size_t bytes) { fwrite(text, 1, bytes, stdout); }
