/* Layers of a model as calls of CMSIS-NN. Images are (N, H, W, C), filters (O, KH, KW, I) or, of a depthwise
 * convolution, (1, KH, KW, O). */
#ifndef PILOTLIGHT_CMSIS_NN_H
#define PILOTLIGHT_CMSIS_NN_H

#include "cmsis_nn/arm_nnfunctions.h"

#ifdef CMSIS_NN_USE_SINGLE_ROUNDING
#error "the model was compiled for CMSIS-NN without CMSIS_NN_USE_SINGLE_ROUNDING"
#endif

/* Kernels for Helium and for the DSP instructions need more scratch than others. */
#if defined(ARM_MATH_MVEI)
#define PL_CMSIS_NN_CORE 2
#elif defined(ARM_MATH_DSP)
#define PL_CMSIS_NN_CORE 1
#else
#define PL_CMSIS_NN_CORE 0
#endif
#if PL_CMSIS_NN_CORE != 0 && PL_CMSIS_NN_CORE != PL_CMSIS_NN_PLANNED
#error "the model was compiled for another core: its scratch is too small here"
#endif

typedef struct {
    cmsis_nn_conv_params params;
    cmsis_nn_dims x, filter, bias, y;
    int32_t scratch; /* bytes */
} pl_cmsis_nn_conv_t;

typedef struct {
    cmsis_nn_dw_conv_params params;
    cmsis_nn_dims x, filter, bias, y;
    int32_t scratch;
} pl_cmsis_nn_depthwise_t;

typedef struct {
    cmsis_nn_fc_params params;
    cmsis_nn_dims x, filter, bias, y;
    int32_t per_channel; /* 0: one multiplier and one shift */
} pl_cmsis_nn_linear_t;

typedef struct {
    cmsis_nn_pool_params params;
    cmsis_nn_dims x, filter, y;
    int32_t scratch;
} pl_cmsis_nn_pool_t;

typedef struct {
    int32_t offset, multiplier, shift;
} pl_cmsis_nn_scale_t;

typedef struct {
    pl_cmsis_nn_scale_t x0, x1, y;
    int32_t left, lo, hi, count;
} pl_cmsis_nn_binary_t;

typedef struct {
    int32_t rows, size, multiplier, shift, least; /* of x minus the largest: what is below is 0 */
} pl_cmsis_nn_softmax_t;

/* CMSIS-NN refuses arguments that it cannot work with. They are constants, and were checked when the model was compiled:
 * if it does all the same, the first run of the model shows it. */
static inline void pl_cmsis_nn_expect(arm_cmsis_nn_status status)
{
    if (status != ARM_CMSIS_NN_SUCCESS) {
        __builtin_trap();
    }
}

static inline cmsis_nn_context pl_cmsis_nn_context(void *scratch, int32_t size)
{
    const cmsis_nn_context made = {.buf = scratch, .size = size};
    return made;
}

/* CMSIS-NN only reads them; its struct has no const. */
static inline cmsis_nn_per_channel_quant_params pl_cmsis_nn_factors(const int32_t *multiplier, const int32_t *shift)
{
    const cmsis_nn_per_channel_quant_params made = {.multiplier = (int32_t *)multiplier, .shift = (int32_t *)shift};
    return made;
}

static inline void pl_cmsis_nn_conv(const pl_cmsis_nn_conv_t *layer, const int8_t *x, const int8_t *filter,
                                    const int32_t *bias, const int32_t *multiplier, const int32_t *shift, int8_t *y,
                                    void *scratch)
{
    const cmsis_nn_context ctx = pl_cmsis_nn_context(scratch, layer->scratch);
    const cmsis_nn_per_channel_quant_params quant = pl_cmsis_nn_factors(multiplier, shift);
    pl_cmsis_nn_expect(arm_convolve_wrapper_s8(&ctx, &layer->params, &quant, &layer->x, x, &layer->filter, filter,
                                               &layer->bias, bias, &layer->y, y));
}

static inline void pl_cmsis_nn_depthwise(const pl_cmsis_nn_depthwise_t *layer, const int8_t *x, const int8_t *filter,
                                         const int32_t *bias, const int32_t *multiplier, const int32_t *shift,
                                         int8_t *y, void *scratch)
{
    const cmsis_nn_context ctx = pl_cmsis_nn_context(scratch, layer->scratch);
    const cmsis_nn_per_channel_quant_params quant = pl_cmsis_nn_factors(multiplier, shift);
    pl_cmsis_nn_expect(arm_depthwise_conv_wrapper_s8(&ctx, &layer->params, &quant, &layer->x, x, &layer->filter, filter,
                                                     &layer->bias, bias, &layer->y, y));
}

/* sums: bias - zero point * sum of weights, of each output; what Helium's kernel starts from. */
static inline void pl_cmsis_nn_linear(const pl_cmsis_nn_linear_t *layer, const int8_t *x, const int8_t *filter,
                                      const int32_t *bias, const int32_t *multiplier, const int32_t *shift,
                                      const int32_t *sums, int8_t *y)
{
    const cmsis_nn_context ctx = pl_cmsis_nn_context((void *)sums, layer->y.c * (int32_t)sizeof(int32_t));
    const cmsis_nn_quant_params quant = {
        .multiplier = (int32_t *)multiplier, .shift = (int32_t *)shift, .is_per_channel = layer->per_channel};
    pl_cmsis_nn_expect(arm_fully_connected_wrapper_s8(&ctx, &layer->params, &quant, &layer->x, x, &layer->filter,
                                                      filter, &layer->bias, bias, &layer->y, y));
}

static inline void pl_cmsis_nn_max_pool(const pl_cmsis_nn_pool_t *layer, const int8_t *x, int8_t *y, void *scratch)
{
    const cmsis_nn_context ctx = pl_cmsis_nn_context(scratch, layer->scratch);
    pl_cmsis_nn_expect(arm_max_pool_s8(&ctx, &layer->params, &layer->x, x, &layer->filter, &layer->y, y));
}

static inline void pl_cmsis_nn_avg_pool(const pl_cmsis_nn_pool_t *layer, const int8_t *x, int8_t *y, void *scratch)
{
    const cmsis_nn_context ctx = pl_cmsis_nn_context(scratch, layer->scratch);
    pl_cmsis_nn_expect(arm_avgpool_s8(&ctx, &layer->params, &layer->x, x, &layer->filter, &layer->y, y));
}

static inline void pl_cmsis_nn_add(const pl_cmsis_nn_binary_t *layer, const int8_t *x0, const int8_t *x1, int8_t *y)
{
    pl_cmsis_nn_expect(arm_elementwise_add_s8(x0, x1, layer->x0.offset, layer->x0.multiplier, layer->x0.shift,
                                              layer->x1.offset, layer->x1.multiplier, layer->x1.shift, layer->left, y,
                                              layer->y.offset, layer->y.multiplier, layer->y.shift, layer->lo,
                                              layer->hi, layer->count));
}

static inline void pl_cmsis_nn_mul(const pl_cmsis_nn_binary_t *layer, const int8_t *x0, const int8_t *x1, int8_t *y)
{
    pl_cmsis_nn_expect(arm_elementwise_mul_s8(x0, x1, layer->x0.offset, layer->x1.offset, y, layer->y.offset,
                                              layer->y.multiplier, layer->y.shift, layer->lo, layer->hi, layer->count));
}

static inline void pl_cmsis_nn_softmax(const pl_cmsis_nn_softmax_t *layer, const int8_t *x, int8_t *y)
{
    arm_softmax_s8(x, layer->rows, layer->size, layer->multiplier, layer->shift, layer->least, y);
}

#endif
