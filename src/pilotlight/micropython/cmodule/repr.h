/* Numbers as text. */
#ifndef PT_REPR_H
#define PT_REPR_H

#include "tensor.h"

#define PT_DECIMALS 150            /* a float32 has no digit after these */
#define PT_TEXT (PT_DECIMALS + 48) /* characters of the longest text: sign, 39 digits, point, decimals */

#define PT_INT_TEXT 21 /* of an int64, with a zero at the end */

/* As printf's %.*f and %.*e, exactly, from the bits of a float32. Return the length; no zero follows. */
int pt_float_text(uint32_t bits, int precision, bool scientific, char *text);
int pt_int_text(int64_t value, char *text);

#endif
