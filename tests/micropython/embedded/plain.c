/* A few calls in C. */
#include <stdio.h>

#include "interpreter.h"

static void print(void *context, const char *text, size_t bytes) { fwrite(text, 1, bytes, (FILE *)context); }

int main(void)
{
    static char heap[65536];
    interpreter_options options = {0};
    interpreter_error error;
    interpreter_value items[3], list;
    options.heap = heap;
    options.heap_bytes = sizeof(heap);
    options.print = print;
    options.context = stdout;
    if (!interpreter_start(&options, &error) || !interpreter_from_int(3, &items[0], &error)
        || !interpreter_from_float(4.5, &items[1], &error) || !interpreter_from_text("five", &items[2], &error)
        || !interpreter_from_list(3, items, &list, &error) || !interpreter_set("x", list, &error)
        || !interpreter_exec("print(x)", &error)) {
        printf("%s: %s\n", error.type, error.message);
        return 1;
    }
    if (!interpreter_exec("print(missing)", &error)) {
        printf("%s: %s\n", error.type, error.message);
    }
    interpreter_stop();
    return 0;
}
