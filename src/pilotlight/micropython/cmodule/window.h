/* Windows that move over tensors (N, C, ...) or (C, ...), for convolution and pooling. */
#ifndef PT_WINDOW_H
#define PT_WINDOW_H

#include "dense.h"

#include "volume.h"

/* Argument k for each of the last `rank` of three dimensions: the numbers given, one for all of them, or `missing` where
 * none is given; `front` for the dimensions before. None may be below `least`. */
void pt_triple(pt_call_t *c, int k, int32_t *to, int rank, const int32_t *missing, int32_t front, int32_t least);
/* Sizes (n, c, id, ih, iw) of argument 0 with `rank` dimensions to move along; false where it has no batch dimension. */
bool pt_volume(pt_call_t *c, pl_volume_t *s, int rank);
/* A tensor (n, channels, od, oh, ow) without the dimensions that the input does not have. */
pt_tensor_t *pt_volume_new(const pl_volume_t *s, int dtype, int32_t channels, int rank, bool batched);

/* What Python makes of integers: `name` is a function of the tensors at `given` and of the numbers in `s`. */
mp_obj_t pt_integers(pt_call_t *c, qstr name, const pl_volume_t *s, int count, const mp_obj_t *given);

/* The inputs (channels, kd, kh, kw, n) under `n` outputs from number `at` on; zeros for the padding. */
void pt_gather(const pl_volume_t *s, const float *x, int32_t channels, int32_t at, int32_t n, float *to);

/* The fields of pl_volume_t by dimension. */
static inline int32_t *pt_sizes_in(pl_volume_t *s) { return &s->id; }
static inline int32_t *pt_sizes_out(pl_volume_t *s) { return &s->od; }
static inline int32_t *pt_kernel(pl_volume_t *s) { return &s->kd; }
static inline int32_t *pt_stride(pl_volume_t *s) { return &s->sd; }
static inline int32_t *pt_padding(pl_volume_t *s) { return &s->pd; }
static inline int32_t *pt_dilation(pl_volume_t *s) { return &s->dd; }

#endif
