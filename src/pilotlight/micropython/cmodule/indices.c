/* Indexing by tensors: index, index_put and index_put_. */
#include "indices.h"

#include "generated/rows.h"
#include "repr.h"

NORETURN void pt_out_of_bounds(int64_t index, int dim, int32_t size)
{
    char text[PT_INT_TEXT];
    text[pt_int_text(index, text)] = 0;
    mp_raise_msg_varg(&mp_type_IndexError, MP_ERROR_TEXT("index %s is out of bounds for dimension %d with size %d"),
        text, dim, (int)size);
}

/* What index tensors pick: for each element of their broadcast shape, an offset in the tensor. */
typedef struct {
    pt_tensor_t *offsets; /* int32, contiguous: of the broadcast shape */
    int first;            /* where that shape goes among the other dimensions of the result */
    int ndim, rest;       /* of the result; of the dimensions that are not picked from */
    int32_t sizes[PT_MAX_DIMS];
    int32_t rest_sizes[PT_MAX_DIMS], rest_strides[PT_MAX_DIMS];
    int used; /* index tensors and offsets of masks, and the dimension that they index: -1 for a mask */
    pt_tensor_t *parts[PT_MAX_DIMS];
    int dims[PT_MAX_DIMS];
} picked_t;

static bool is_mask(const pt_tensor_t *t) { return t->dtype == PT_BOOL || t->dtype == PT_UINT8; }

static bool is_set(const pt_tensor_t *mask, const int32_t *at)
{
    ptrdiff_t offset = 0;
    for (int d = 0; d < mask->ndim; d++) {
        offset += (ptrdiff_t)at[d] * mask->dims[mask->ndim + d];
    }
    return mask->data[offset] != 0;
}

/* The offsets, in dimensions `dim` and following of `t`, of the elements that a mask has set. */
static pt_tensor_t *mask_offsets(const pt_tensor_t *t, int dim, const pt_tensor_t *mask)
{
    const int32_t all = pt_numel(mask);
    pt_tensor_t *found = NULL;
    int32_t count = 0;
    for (int pass = 0; pass < 2; pass++) { /* counts, then writes */
        int32_t at[PT_MAX_DIMS] = {0};
        int32_t *to = pass ? (int32_t *)(void *)found->data : NULL;
        for (int32_t k = 0; k < all; k++) {
            if (is_set(mask, at)) {
                if (to && count > 0) { /* a callback may have set more of the mask in the meantime */
                    int32_t offset = 0;
                    for (int d = 0; d < mask->ndim; d++) {
                        offset += at[d] * t->dims[t->ndim + dim + d];
                    }
                    *to++ = offset;
                    count--;
                } else if (!to) {
                    count++;
                }
            }
            for (int d = mask->ndim - 1; d >= 0 && ++at[d] == mask->dims[d]; d--) {
                at[d] = 0;
            }
            if (k % 4096 == 4095) {
                pt_poll();
            }
        }
        if (!pass) {
            found = pt_new(PT_INT32, 1, &count);
            memset(found->data, 0, found->bytes);
        }
    }
    return found;
}

static void check_mask(const pt_tensor_t *t, int dim, const pt_tensor_t *mask)
{
    for (int d = 0; d < mask->ndim; d++) {
        if (dim + d >= t->ndim || mask->dims[d] != t->dims[dim + d]) {
            mp_raise_msg_varg(&mp_type_IndexError,
                MP_ERROR_TEXT("The shape of the mask %s at index %d does not match "
                              "the shape of the indexed tensor %s at index %d"),
                pt_shape_text(mask->ndim, mask->dims), d, pt_shape_text(t->ndim, t->dims), dim + d);
        }
    }
}

static int broadcast(int count, pt_tensor_t *const *parts, int32_t *sizes)
{
    nlr_buf_t nlr;
    if (nlr_push(&nlr)) {
        vstr_t text;
        mp_print_t print;
        vstr_init_print(&text, 96, &print);
        mp_print_str(&print, "shape mismatch: indexing tensors could not be broadcast together with shapes ");
        for (int k = 0; k < count; k++) {
            mp_printf(&print, "%s%s", k ? ", " : "", pt_shape_text(parts[k]->ndim, parts[k]->dims));
        }
        nlr_raise(mp_obj_new_exception_arg1(&mp_type_IndexError, mp_obj_new_str_from_vstr(&text)));
    }
    const int ndim = pt_broadcast(count, parts, sizes);
    nlr_pop();
    return ndim;
}

/* Adds what one part contributes; indices of a dimension are checked against its size, masks need no check. */
static void add_offsets(pt_tensor_t *offsets, pt_tensor_t *part, int number, int32_t size, int32_t stride)
{
    pt_tensor_t *const operands[] = {offsets, part};
    pt_walk_t w;
    pt_walk(&w, 2, operands);
    while (pt_next(&w)) {
        const int32_t ys = w.steps[0][w.ndim - 1], xs = w.steps[1][w.ndim - 1];
        for (int32_t at = 0; at < w.run; at += PT_CHUNK) {
            pt_chunk_t chunk;
            const int n = w.run - at < PT_CHUNK ? (int)(w.run - at) : PT_CHUNK;
            int32_t *to = (int32_t *)(void *)w.data[0] + (ptrdiff_t)at * ys;
            pt_load(w.data[1] + (ptrdiff_t)at * xs * w.width[1], part->dtype, xs, PT_INT64, &chunk, n);
            for (int k = 0; k < n; k++) {
                const int64_t index = chunk.i[k];
                if (size >= 0 && (index < -size || index >= size)) {
                    pt_out_of_bounds(index, number, size);
                }
                to[k * ys] += (int32_t)(size >= 0 && index < 0 ? index + size : index) * stride;
            }
        }
        pt_poll();
    }
}

/* What the indices say about the shape of the result. */
static void pick(picked_t *p, pt_tensor_t *t, int count, pt_tensor_t *const *indices)
{
    int dim = 0, last = -1;
    bool taken[PT_MAX_DIMS] = {false};
    int32_t sizes[PT_MAX_DIMS];
    p->first = -1;
    p->used = 0;
    for (int k = 0; k < count; k++) {
        pt_tensor_t *index = indices[k];
        const int covered = index && is_mask(index) ? index->ndim : 1;
        if (!index) {
            dim++;
            continue;
        }
        if (is_mask(index)) {
            check_mask(t, dim, index);
        } else if (index->dtype != PT_INT64 && index->dtype != PT_INT32) {
            mp_raise_msg(
                &mp_type_IndexError, MP_ERROR_TEXT("tensors used as indices must be long, int, byte or bool tensors"));
        }
        if (dim + covered > t->ndim) {
            dim += count - k;
            break;
        }
        p->dims[p->used] = is_mask(index) ? -1 : dim;
        p->parts[p->used++] = is_mask(index) ? mask_offsets(t, dim, index) : index;
        for (int d = 0; d < covered; d++) {
            taken[dim] = true;
            p->first = p->first < 0 ? dim : last >= 0 && last != dim - 1 ? 0 : p->first;
            last = dim++;
        }
    }
    if (dim > t->ndim) {
        mp_raise_msg_varg(&mp_type_IndexError, MP_ERROR_TEXT("too many indices for tensor of dimension %d (got %d)"),
            (int)t->ndim, dim);
    }
    const int wide = broadcast(p->used, p->parts, sizes);
    p->rest = 0;
    for (int d = 0; d < t->ndim; d++) {
        if (!taken[d]) {
            p->rest_sizes[p->rest] = t->dims[d];
            p->rest_strides[p->rest++] = t->dims[t->ndim + d];
        }
    }
    p->ndim = p->rest + wide;
    if (p->ndim > PT_MAX_DIMS) {
        mp_raise_msg_varg(
            &mp_type_RuntimeError, MP_ERROR_TEXT("tensors have at most %d dimensions, got %d"), PT_MAX_DIMS, p->ndim);
    }
    p->first = p->first < 0 ? 0 : p->first;
    memcpy(p->sizes, p->rest_sizes, (size_t)p->first * sizeof(int32_t));
    memcpy(p->sizes + p->first, sizes, (size_t)wide * sizeof(int32_t));
    memcpy(p->sizes + p->first + wide, p->rest_sizes + p->first, (size_t)(p->rest - p->first) * sizeof(int32_t));
    p->offsets = pt_new(PT_INT32, wide, sizes);
    for (int k = 0; k < p->used; k++) {
        if (p->dims[k] >= 0 && t->dims[p->dims[k]] == 0 && pt_numel(p->offsets)) {
            mp_raise_msg(&mp_type_IndexError, MP_ERROR_TEXT("index is out of bounds for dimension with size 0"));
        }
    }
}

/* As in PyTorch, values of indices are checked only if they pick something. */
static void fill_offsets(const picked_t *p, const pt_tensor_t *t)
{
    memset(p->offsets->data, 0, p->offsets->bytes);
    for (int k = 0; k < p->used; k++) {
        const int d = p->dims[k];
        add_offsets(p->offsets, p->parts[k], k, d < 0 ? -1 : t->dims[d], d < 0 ? 1 : t->dims[t->ndim + d]);
    }
}

enum { GET, PUT, ADD };

static void move(int action, pt_tensor_t *inside, pt_tensor_t *outside, size_t block)
{
    pt_tensor_t *const both[] = {inside, outside};
    if (action == ADD) {
        pt_apply(&pt_row_add, 2, both, inside);
    } else if (block) {
        memcpy(action == GET ? outside->data : inside->data, action == GET ? inside->data : outside->data, block);
    } else {
        pt_copy_into(both[action == GET], both[action != GET]);
    }
}

/* Moves elements between the picked ones of `t` and `other`, which has the shape of the result. */
static void each(const picked_t *p, pt_tensor_t *t, pt_tensor_t *other, int action)
{
    const int wide = p->offsets->ndim;
    const int32_t *const steps = pt_strides(other) + p->first, *offsets = (int32_t *)(void *)p->offsets->data;
    const int32_t count = pt_numel(p->offsets);
    int32_t strides[PT_MAX_DIMS], at[PT_MAX_DIMS] = {0};
    memcpy(strides, pt_strides(other), (size_t)p->first * sizeof(int32_t));
    memcpy(strides + p->first, steps + wide, (size_t)(p->rest - p->first) * sizeof(int32_t));
    pt_tensor_t *inside = pt_view(t, p->rest, p->rest_sizes, p->rest_strides, 0);
    pt_tensor_t *outside = pt_view(other, p->rest, p->rest_sizes, strides, 0);
    const bool whole = t->dtype == other->dtype && pt_is_contiguous(inside) && pt_is_contiguous(outside);
    const size_t block = whole ? (size_t)pt_numel(inside) * (size_t)pt_size(t->dtype) : 0;
    if (pt_numel(inside) == 0) {
        return;
    }
    fill_offsets(p, t);
    for (int32_t k = 0; k < count; k++) {
        inside->data = t->data + (ptrdiff_t)offsets[k] * pt_size(t->dtype);
        move(action, inside, outside, block);
        for (int d = wide - 1; d >= 0; d--) {
            const ptrdiff_t step = (ptrdiff_t)steps[d] * pt_size(other->dtype);
            outside->data += step;
            if (++at[d] < p->offsets->dims[d]) {
                break;
            }
            outside->data -= step * at[d];
            at[d] = 0;
        }
        if (k % 1024 == 1023) {
            pt_poll();
        }
    }
}

pt_tensor_t *pt_index(pt_call_t *c, pt_tensor_t *t, int count, pt_tensor_t *const *indices)
{
    picked_t p;
    pick(&p, t, count, indices);
    pt_tensor_t *result = c ? pt_result(c, t->dtype, p.ndim, p.sizes) : pt_new(t->dtype, p.ndim, p.sizes);
    each(&p, t, result, GET);
    return result;
}

pt_tensor_t *pt_without_ones(pt_tensor_t *t, int least)
{
    int ones = 0;
    while (t->ndim - ones > least && t->dims[ones] == 1) {
        ones++;
    }
    return ones ? pt_view(t, t->ndim - ones, t->dims + ones, pt_strides(t) + ones, 0) : t;
}

void pt_index_put(pt_tensor_t *t, int count, pt_tensor_t *const *indices, pt_tensor_t *values, bool accumulate)
{
    picked_t p;
    pt_check_writable(t);
    pick(&p, t, count, indices);
    pt_tensor_t *given = pt_without_ones(values, p.ndim);
    bool fits = given->ndim <= p.ndim;
    for (int d = 0; fits && d < given->ndim; d++) {
        fits = given->dims[d] == 1 || given->dims[d] == p.sizes[p.ndim - given->ndim + d];
    }
    if (!fits) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape "
                          "%s"),
            pt_shape_text(values->ndim, values->dims), pt_shape_text(p.ndim, p.sizes));
    }
    if (values->dtype != t->dtype) {
        mp_raise_msg_varg(&mp_type_RuntimeError,
            MP_ERROR_TEXT("Index put requires the source and destination dtypes "
                          "match, got %s for the destination and %s for the source."),
            pt_dtypes[t->dtype].type, pt_dtypes[values->dtype].type);
    }
    int given_indices = 0;
    bool filled = !accumulate && pt_numel(values) == 1; /* one mask and one number: PyTorch calls masked_fill_ */
    for (int k = 0; k < count; k++) {
        filled = filled && (!indices[k] || (is_mask(indices[k]) && !given_indices++));
    }
    for (int k = 0; k < count; k++) {
        if (indices[k]) {
            pt_check_overlap(t, indices[k], !filled);
        }
    }
    if (!filled) {
        pt_check_overlap(t, values, true);
    }
    given = pt_expand(given, p.ndim, p.sizes);
    each(&p, t, given, accumulate ? ADD : PUT);
}

/* ---- the operators --------------------------------------------------------------------------------------------- */

static int listed(const pt_arg_t *list, pt_tensor_t **to)
{
    if (list->count > PT_MAX_DIMS) {
        mp_raise_msg_varg(&mp_type_IndexError, MP_ERROR_TEXT("too many indices for tensor (got %d)"), (int)list->count);
    }
    for (int k = 0; k < list->count; k++) {
        to[k] = list->v.objects[k] == mp_const_none ? NULL : pt_tensor(list->v.objects[k]);
    }
    return list->count;
}

mp_obj_t pt_do_index(pt_call_t *c)
{
    pt_tensor_t *indices[PT_MAX_DIMS];
    const int count = listed(&c->args[1], indices);
    return MP_OBJ_FROM_PTR(pt_index(c, c->args[0].v.tensor, count, indices));
}

mp_obj_t pt_do_index_put(pt_call_t *c)
{
    pt_tensor_t *indices[PT_MAX_DIMS], *self = c->args[0].v.tensor;
    const int count = listed(&c->args[1], indices);
    c->laps = PT_ANYWHERE; /* pt_index_put checks it */
    pt_tensor_t *t = pt_result(c, self->dtype, self->ndim, pt_sizes(self));
    if (t != self) {
        pt_copy_into(t, self);
    }
    pt_index_put(t, count, indices, c->args[2].v.tensor, c->args[3].v.i != 0);
    return MP_OBJ_FROM_PTR(t);
}
