/* The Mersenne Twister, seeded and read as PyTorch does. */
#include "random.h"

#include "functions.h"
#include "wide.h"

#define USUAL_SEED 67280421310721ull /* of a new torch.Generator() */

static void plant(pt_generator_t *g, uint64_t seed)
{
    g->seed = seed;
    g->has_next = false;
    g->at = PT_TWISTER;
    g->state[0] = (uint32_t)seed;
    for (uint32_t k = 1; k < PT_TWISTER; k++) {
        g->state[k] = 1812433253u * (g->state[k - 1] ^ g->state[k - 1] >> 30) + k;
    }
}

static void twist(uint32_t *s)
{
    for (int k = 0; k < PT_TWISTER; k++) {
        const uint32_t y = (s[k] & 0x80000000u) | (s[k + 1 < PT_TWISTER ? k + 1 : 0] & 0x7fffffffu);
        s[k] = s[k + 397 < PT_TWISTER ? k + 397 : k + 397 - PT_TWISTER] ^ y >> 1 ^ (y & 1u ? 0x9908b0dfu : 0u);
    }
}

uint32_t pt_random32(pt_generator_t *g)
{
    if (g->at == PT_TWISTER) {
        twist(g->state);
        g->at = 0;
    }
    uint32_t y = g->state[g->at++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ y >> 18;
}

uint64_t pt_random64(pt_generator_t *g)
{
    const uint64_t high = pt_random32(g);
    return high << 32 | pt_random32(g);
}

uint64_t pt_random53(pt_generator_t *g) { return pt_random64(g) & ((1ull << 53) - 1u); }

mp_float_t pt_unit(int64_t k) { return pt_number(k) * (mp_float_t)1.1102230246251565e-16; }

mp_float_t pt_log_rest(uint64_t k)
{
    uint64_t q = (1ull << 53) - k;
    int e = 0;
    for (; q < 0x16a09e667f3bcdull; q <<= 1) { /* to at least 1 / sqrt(2), in units of 2**-53 */
        e--;
    }
    const mp_float_t d = pt_unit((int64_t)(q - (1ull << 53))), t = d / (2 + d);
    mp_float_t sum = 0; /* log(1 + d) = 2 (t + t**3 / 3 + ...) */
    for (int n = 23; n > 0; n -= 2) {
        sum = sum * t * t + (mp_float_t)1 / (mp_float_t)n;
    }
    return 2 * t * sum + (mp_float_t)e * (mp_float_t)0.69314718055994530942;
}

/* ---- as Python sees it ----------------------------------------------------------------------------------------- */

static mp_obj_t generator_manual_seed(mp_obj_t self, mp_obj_t seed)
{
    seed = mp_obj_is_float(seed) ? mp_obj_new_int_from_float(mp_obj_get_float(seed)) : seed;
    plant(MP_OBJ_TO_PTR(self), (uint64_t)pt_int64(seed));
    return self;
}
static MP_DEFINE_CONST_FUN_OBJ_2(generator_manual_seed_obj, generator_manual_seed);

static mp_obj_t generator_initial_seed(mp_obj_t self)
{
    return mp_obj_new_int_from_ull(((pt_generator_t *)MP_OBJ_TO_PTR(self))->seed);
}
static MP_DEFINE_CONST_FUN_OBJ_1(generator_initial_seed_obj, generator_initial_seed);

/* A fresh seed: from the port's random source if it has one, else from the numbers so far. */
static mp_obj_t generator_seed(mp_obj_t self)
{
    pt_generator_t *g = MP_OBJ_TO_PTR(self);
    uint64_t seed = pt_random64(g);
    #ifdef MICROPY_PY_RANDOM_SEED_INIT_FUNC
    seed ^= (uint64_t)(MICROPY_PY_RANDOM_SEED_INIT_FUNC);
    #endif
    plant(g, seed);
    return generator_initial_seed(self);
}
static MP_DEFINE_CONST_FUN_OBJ_1(generator_seed_obj, generator_seed);

static mp_obj_t generator_get_state(mp_obj_t self)
{
    const int32_t bytes = (int32_t)(sizeof(pt_generator_t) - offsetof(pt_generator_t, has_next));
    pt_tensor_t *t = pt_new(PT_UINT8, 1, &bytes);
    memcpy(t->data, &((pt_generator_t *)MP_OBJ_TO_PTR(self))->has_next, (size_t)bytes);
    return MP_OBJ_FROM_PTR(t);
}
static MP_DEFINE_CONST_FUN_OBJ_1(generator_get_state_obj, generator_get_state);

static mp_obj_t generator_set_state(mp_obj_t self, mp_obj_t state)
{
    const int32_t bytes = (int32_t)(sizeof(pt_generator_t) - offsetof(pt_generator_t, has_next));
    pt_generator_t *g = MP_OBJ_TO_PTR(self);
    if (!pt_is_tensor(state) || pt_tensor(state)->dtype != PT_UINT8 || pt_numel(pt_tensor(state)) != bytes) {
        mp_raise_msg(&mp_type_TypeError, MP_ERROR_TEXT("RNG state must be a torch.ByteTensor of get_state()"));
    }
    memcpy(&g->has_next, pt_contiguous(pt_tensor(state), PT_UINT8)->data, (size_t)bytes);
    g->at = g->at < 0 || g->at > PT_TWISTER ? PT_TWISTER : g->at;
    return self;
}
static MP_DEFINE_CONST_FUN_OBJ_2(generator_set_state_obj, generator_set_state);

static const mp_rom_map_elem_t generator_table[] = {
    {MP_ROM_QSTR(MP_QSTR_manual_seed), MP_ROM_PTR(&generator_manual_seed_obj)},
    {MP_ROM_QSTR(MP_QSTR_initial_seed), MP_ROM_PTR(&generator_initial_seed_obj)},
    {MP_ROM_QSTR(MP_QSTR_seed), MP_ROM_PTR(&generator_seed_obj)},
    {MP_ROM_QSTR(MP_QSTR_get_state), MP_ROM_PTR(&generator_get_state_obj)},
    {MP_ROM_QSTR(MP_QSTR_set_state), MP_ROM_PTR(&generator_set_state_obj)},
};
static MP_DEFINE_CONST_DICT(generator_dict, generator_table);
static MP_DEFINE_CONST_OBJ_TYPE(generator_type, MP_QSTR_Generator, MP_TYPE_FLAG_NONE, locals_dict, &generator_dict);

mp_obj_t pt_do_generator(pt_call_t *c)
{
    (void)c;
    pt_generator_t *g = m_new_obj(pt_generator_t);
    g->base.type = &generator_type;
    plant(g, USUAL_SEED);
    return MP_OBJ_FROM_PTR(g);
}

MP_REGISTER_ROOT_POINTER(void *pt_default_generator);

pt_generator_t *pt_generator(pt_call_t *c, const pt_arg_t *arg)
{
    if (arg && arg->given) {
        if (!mp_obj_is_type(arg->object, &generator_type)) {
            mp_raise_msg_varg(&mp_type_TypeError,
                MP_ERROR_TEXT("%q(): argument 'generator' must be torch.Generator, not %s"), c->op->name,
                mp_obj_get_type_str(arg->object));
        }
        return MP_OBJ_TO_PTR(arg->object);
    }
    if (!MP_STATE_VM(pt_default_generator)) {
        MP_STATE_VM(pt_default_generator) = MP_OBJ_TO_PTR(pt_do_generator(c));
    }
    return MP_STATE_VM(pt_default_generator);
}

mp_obj_t pt_do_manual_seed(pt_call_t *c)
{
    return generator_manual_seed(MP_OBJ_FROM_PTR(pt_generator(c, NULL)), c->args[0].object);
}

mp_obj_t pt_do_initial_seed(pt_call_t *c) { return generator_initial_seed(MP_OBJ_FROM_PTR(pt_generator(c, NULL))); }

mp_obj_t pt_do_seed(pt_call_t *c) { return generator_seed(MP_OBJ_FROM_PTR(pt_generator(c, NULL))); }

mp_obj_t pt_do_get_rng_state(pt_call_t *c) { return generator_get_state(MP_OBJ_FROM_PTR(pt_generator(c, NULL))); }

mp_obj_t pt_do_set_rng_state(pt_call_t *c)
{
    generator_set_state(MP_OBJ_FROM_PTR(pt_generator(c, NULL)), c->args[0].object);
    return mp_const_none;
}
