/* The shapes of windows. */
#include "window.h"

#include "packed.h"

#define LARGEST (1 << 28) /* sums of such numbers are still int32 */

void pt_triple(pt_call_t *c, int k, int32_t *to, int rank, const int32_t *missing, int32_t front, int32_t least)
{
    const pt_arg_t *given = &c->args[k];
    const bool some = given->given && given->count > 0;
    for (int d = 0; d < 3; d++) {
        const int own = d - (3 - rank);
        if (some && given->count != 1 && given->count != rank) {
            pt_refuse(c, k);
        }
        to[d] = own < 0 ? front : some ? given->v.ints[given->count == 1 ? 0 : own] : missing[d];
        if (to[d] < least || to[d] > LARGEST) {
            pt_refuse(c, k);
        }
    }
}

bool pt_volume(pt_call_t *c, pl_volume_t *s, int rank)
{
    const pt_tensor_t *x = c->args[0].v.tensor;
    const bool batched = x->ndim == rank + 2;
    if (!batched && x->ndim != rank + 1) {
        pt_refuse(c, 0);
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

mp_obj_t pt_integers(pt_call_t *c, qstr name, const pl_volume_t *s, int count, const mp_obj_t *given)
{
    mp_obj_t args[4];
    memcpy(args, given, (size_t)count * sizeof(mp_obj_t));
    args[count] = pt_size_tuple((int)(sizeof(*s) / sizeof(int32_t)), (const int32_t *)s);
    const mp_obj_t y = pt_call_packed(name, (size_t)count + 1, 0, args);
    if (y == MP_OBJ_NULL) {
        pt_no_type(c, c->args[0].v.tensor->dtype);
    }
    return y;
}
