/* The shapes of windows. */
#include "window.h"

#define LARGEST (1 << 28) /* sums of such numbers are still int32 */

void pt_triple(int32_t *to, const char *what, const pt_arg_t *given, int rank, const int32_t *missing, int32_t front)
{
    const bool some = given && given->given && given->count > 0;
    if (some && given->count != 1 && given->count != rank) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("expected %s to be a single integer value or a list of %d values to match the convolution "
                          "dimensions, but got %s=%s"), what, rank, what, pt_shape_text(given->count, given->v.ints));
    }
    for (int d = 0; d < 3; d++) {
        const int own = d - (3 - rank);
        to[d] = own < 0 ? front : some ? given->v.ints[given->count == 1 ? 0 : own] : missing[d];
        if (to[d] > LARGEST) {
            mp_raise_msg_varg(&mp_type_RuntimeError, MP_ERROR_TEXT("%s is too large"), what);
        }
    }
}

bool pt_volume(pl_volume_t *s, const char *what, const pt_tensor_t *x, int rank)
{
    const bool batched = x->ndim == rank + 2;
    if (!batched && x->ndim != rank + 1) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("Expected %dD (unbatched) or %dD (batched) input to %s%dd, but got input of size: %s"), rank + 1,
            rank + 2, what, rank, pt_shape_of(x));
    }
    const int32_t *sizes = x->dims + batched;
    s->n = batched ? x->dims[0] : 1;
    s->c = sizes[0];
    for (int d = 0; d < 3; d++) {
        pt_sizes_in(s)[d] = d < 3 - rank ? 1 : sizes[1 + d - (3 - rank)];
    }
    return batched;
}

pt_tensor_t *pt_volume_new(const pl_volume_t *s, int dtype, int32_t channels, int rank, bool batched)
{
    const int32_t sizes[] = {s->n, channels, s->od, s->oh, s->ow};
    int32_t own[5];
    int ndim = 0;
    for (int d = batched ? 0 : 1; d < 5; d++) {
        if (d < 2 || d >= 5 - rank) {
            own[ndim++] = sizes[d];
        }
    }
    return pt_new(dtype, ndim, own);
}
