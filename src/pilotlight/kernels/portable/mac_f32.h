#ifndef PL_MAC_F32_H
#define PL_MAC_F32_H

#include <stddef.h>
#include <stdint.h>

#include "bits_f32.h"
#include "mem.h"

/* The multiply-accumulate blocks under convolution, depthwise convolution and linear layers.
 *
 * A block mac_f32_PxF computes P pixels by F filters, dw_f32_PxF computes P pixels by F channels. On cores with
 * single-precision hardware and Thumb-2 the blocks of a model NAME are assembly functions NAME_mac_f32_PxF;
 * elsewhere, and always with PILOTLIGHT_PORTABLE, they are pl_block_f32 below, which sums in the same order: taps in
 * the outer loop, channels in the inner, starting from the bias. The C means a multiply and an add, each rounded
 * (build it with -std=c99 or -ffp-contract=off); the assembly says at its top which it does. pl_mac_f32, written for
 * each model after this text, calls the one or the other. */
#if !defined(PILOTLIGHT_PORTABLE) && defined(__thumb2__) && defined(__ARM_FP) && (__ARM_FP & 4)
#define PL_MICRO_ASM 1
#else
#define PL_MICRO_ASM 0
#endif

/* What a block reads and writes. Distances are in floats. One pixel's window is `rows` by `cols` runs of `len`
 * contiguous floats (a depthwise run is the F channels of one tap). The assembly knows this order of fields. */
typedef struct {
    const float *x;    // first float of the first run of the first pixel
    const float *w;    // first weight used of the first block of filters
    const float *bias; // of the first filter, or null
    float *y;          // first filter's output at the first pixel
    int32_t rows;
    int32_t cols;
    int32_t len;
    int32_t x_col;   // from the end of a run (depthwise: its start) to the next in the same row
    int32_t x_row;   // from where x is after a row's last run to the start of the next row
    int32_t x_pixel; // from a pixel's window to the next pixel's
    int32_t w_row;   // weights to skip after each row, divided by F; 0 with two pixels
    int32_t w_block; // weights to skip after each block, divided by F
    int32_t y_pixel; // from a pixel's outputs to the next pixel's
    int32_t blocks;  // blocks of F filters, the inner loop
    int32_t groups;  // groups of P pixels, the outer loop
    int32_t relu;    // 1: outputs below zero become zero; NaN stays NaN
} pl_mac_t;

/* What happens to outputs: nothing, max(y, 0), limits 0..hi with hi >= 0, any limits lo..hi. NaN stays NaN. */
enum { PL_ACT_NONE, PL_ACT_RELU, PL_ACT_LIMIT, PL_ACT_CLAMP };

/* The part of an activation that the blocks leave to do. */
static inline void pl_limit_f32(int32_t act, float lo, float hi, float *y, int32_t n)
{
    if (act == PL_ACT_LIMIT) {
        const uint32_t top = pl_bits(hi);
        for (int32_t i = 0; i < n; i++) { // no y is negative, so floats compare as integers; NaN is above infinity
            if ((pl_bits(y[i]) - top) <= (0x7f800000u - top)) {
                y[i] = hi;
            }
        }
    } else if (act == PL_ACT_CLAMP) {
        for (int32_t i = 0; i < n; i++) {
            const float v = (y[i] < lo) ? lo : y[i];
            y[i] = (v > hi) ? hi : v;
        }
    } else {
        /* the blocks have done it all */
    }
}

/* One block of `filters` filters at one pixel: the sum over its window. */
static inline void pl_mac_pixel_f32(const pl_mac_t *a, const float *x_start, const float *w_start, const float *bias,
                                    float *y, int32_t filters)
{
    const float *x = x_start;
    const float *w = w_start;
    float acc[8]; // (filters)
    for (int32_t f = 0; f < filters; f++) {
        PL_BARRIER(bias);
        acc[f] = (bias != NULL) ? bias[f] : 0.0f;
    }
    for (int32_t r = 0; r < a->rows; r++) {
        for (int32_t c = 0; c < a->cols; c++) {
            for (int32_t k = 0; k < a->len; k++) {
                const float v = *x;
                x++;
                for (int32_t f = 0; f < filters; f++) {
                    acc[f] = acc[f] + (v * w[f]);
                }
                w = &w[filters];
            }
            if ((c + 1) < a->cols) {
                x = &x[a->x_col];
            }
        }
        if ((r + 1) < a->rows) {
            x = &x[a->x_row];
        }
        w = &w[a->w_row * filters];
    }
    for (int32_t f = 0; f < filters; f++) {
        PL_BARRIER(y);
        y[f] = ((a->relu != 0) && (acc[f] < 0.0f)) ? 0.0f : acc[f];
    }
}

/* One block of `channels` channels at one pixel, each with its own filter. */
static inline void pl_dw_pixel_f32(const pl_mac_t *a, const float *x_start, const float *w_start, const float *bias,
                                   float *y, int32_t channels)
{
    const float *x = x_start;
    const float *w = w_start;
    float acc[8]; // (channels)
    for (int32_t f = 0; f < channels; f++) {
        PL_BARRIER(bias);
        acc[f] = (bias != NULL) ? bias[f] : 0.0f;
    }
    for (int32_t r = 0; r < a->rows; r++) {
        for (int32_t c = 0; c < a->cols; c++) {
            for (int32_t f = 0; f < channels; f++) {
                acc[f] = acc[f] + (x[f] * w[f]);
            }
            x = &x[a->x_col];
            w = &w[channels];
        }
        if ((r + 1) < a->rows) {
            x = &x[a->x_row];
        }
        w = &w[a->w_row * channels];
    }
    for (int32_t f = 0; f < channels; f++) {
        PL_BARRIER(y);
        y[f] = ((a->relu != 0) && (acc[f] < 0.0f)) ? 0.0f : acc[f];
    }
}

/* All groups and blocks of a call, in the order of the assembly: groups of pixels in the outer loop, filters in the
 * inner. The pixels of a block are computed before any of them is stored, because y may overlap x. */
static inline void pl_block_f32(const pl_mac_t *a, int32_t pixels, int32_t filters, int32_t depthwise)
{
    const int32_t row = (depthwise != 0) ? a->cols : (a->cols * a->len);
    const int32_t w_next = (a->rows * (row + a->w_row)) + a->w_block;
    const float *x = a->x;
    float *y = a->y;
    for (int32_t g = 0; g < a->groups; g++) {
        const float *w = a->w;
        for (int32_t b = 0; b < a->blocks; b++) {
            const int32_t at = b * filters;
            const float *bias = (a->bias != NULL) ? (a->bias + at) : NULL;
            float out[2 * 8]; // (pixels, filters)
            for (int32_t p = 0; p < pixels; p++) {
                const float *from = x + (p * a->x_pixel);
                if (depthwise != 0) {
                    pl_dw_pixel_f32(a, from + at, w, bias, out + (p * filters), filters);
                } else {
                    pl_mac_pixel_f32(a, from, w, bias, out + (p * filters), filters);
                }
            }
            for (int32_t p = 0; p < pixels; p++) {
                for (int32_t f = 0; f < filters; f++) {
                    PL_BARRIER(y);
                    y[(p * a->y_pixel) + at + f] = out[(p * filters) + f];
                }
            }
            w = &w[w_next * filters];
        }
        x = &x[pixels * a->x_pixel];
        y = &y[pixels * a->y_pixel];
    }
}

#endif
