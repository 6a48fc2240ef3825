/* PyTorch's generator of random numbers for the CPU: the Mersenne Twister, and what it keeps between calls. */
#ifndef PT_RANDOM_H
#define PT_RANDOM_H

#include "shape.h"

#define PT_TWISTER 624

typedef struct {
    mp_obj_base_t base;
    bool has_next; /* of normal numbers, which come in pairs */
    mp_float_t next;
    int32_t at;
    uint64_t seed;
    uint32_t state[PT_TWISTER];
} pt_generator_t;

/* The generator of a call's argument, or the one for all calls, made on first use. */
pt_generator_t *pt_generator(pt_call_t *c, const pt_arg_t *arg);
uint32_t pt_random32(pt_generator_t *g);
uint64_t pt_random64(pt_generator_t *g);
uint64_t pt_random53(pt_generator_t *g);
mp_float_t pt_unit(int64_t k);      /* k / 2**53 */
mp_float_t pt_log_rest(uint64_t k); /* log(1 - k / 2**53) */

/* Writes numbers of a distribution, n at a time, to all elements in the order of memory. */
typedef struct {
    pt_generator_t *g;
    float from, to; /* or mean and deviation */
    mp_float_t p;   /* of an element, or the rate */
    uint64_t base, range;
    int dtype;
} pt_draw_t;
typedef void (*pt_source_t)(const pt_draw_t *d, pt_chunk_t *to, int n);
void pt_draw(pt_tensor_t *y, pt_source_t source, const pt_draw_t *d, int compute);
/* self of an operator that exists only in place. */
static inline pt_tensor_t *pt_changed(pt_call_t *c)
{
    pt_check_writable(c->args[0].v.tensor);
    pt_check_itself(c->args[0].v.tensor);
    return c->args[0].v.tensor;
}

#endif
