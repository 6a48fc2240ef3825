/* Files in memory, which Python opens and imports. */
#ifndef FILES_H
#define FILES_H

#include "interpreter.h"

/* The array stays where it is. */
void files_are(const interpreter_file *array, size_t count);

/* Whether a file is an archive of torch.jit.save. */
bool files_have_script(const char *name);

#endif
