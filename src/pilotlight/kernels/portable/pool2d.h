#ifndef PL_POOL2D_H
#define PL_POOL2D_H

#include <stdint.h>

/* The shape of a 2-d pooling, channels last. */
typedef struct {
    int32_t n; // input (n, ih, iw, c)
    int32_t ih;
    int32_t iw;
    int32_t c;
    int32_t oh; // output (n, oh, ow, c)
    int32_t ow;
    int32_t kh; // kernel
    int32_t kw;
    int32_t sh; // stride
    int32_t sw;
    int32_t top; // padding above and below, left and right
    int32_t left;
    int32_t dh; // dilation, of maxima only
    int32_t dw;
    int32_t count_padding; // averages count padded elements
    int32_t divisor;       // averages divide by this where it is not 0
} pl_pool2d_t;

/* A window along one axis: taps first, first + step, ... below end, all inside the input. */
typedef struct {
    int32_t first;
    int32_t end;
    int32_t step;
} pl_span_t;

/* The taps of a window that starts at `at`, clipped to 0..size. */
static inline pl_span_t pl_pool_span(int32_t at, int32_t taps, int32_t dilation, int32_t size)
{
    pl_span_t s = {at, at + ((taps - 1) * dilation) + 1, dilation};
    if (at < 0) {
        s.first = at + ((dilation - 1 - at) / dilation * dilation);
    }
    s.end = (s.end > size) ? size : s.end;
    return s;
}

/* The cell `o` of `out` that an adaptive pooling cuts an axis of `size` into. */
static inline pl_span_t pl_adaptive_span(int32_t o, int32_t size, int32_t out)
{
    const pl_span_t s = {o * size / out, (((o + 1) * size) + out - 1) / out, 1};
    return s;
}

#endif
