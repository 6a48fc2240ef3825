#ifndef PL_VOLUME_H
#define PL_VOLUME_H

#include <stdint.h>

/* Windows over volumes, PyTorch's order: x (n, c, id, ih, iw), y (n, oc, od, oh, ow). Images and sequences have depth
 * and height 1. Per dimension k elements a window, d apart, moved by s, p in front; s is 0 for windows that divide the
 * input evenly (adaptive pooling), negative for transposed convolution. */
typedef struct {
    int32_t n, c, oc, groups;
    int32_t id, ih, iw, od, oh, ow;
    int32_t kd, kh, kw, sd, sh, sw, pd, ph, pw, dd, dh, dw;
    int32_t count_padding, divisor; // of average pooling
} pl_volume_t;

/* Which input lies under tap k of output o, or a negative number. */
static inline int32_t pl_tap(int32_t o, int32_t k, int32_t size, int32_t s, int32_t p, int32_t d)
{
    int32_t at = o * s - p + k * d;
    if (s < 0) {
        at = o + p - k * d;
        at = at % s == 0 ? at / -s : -1;
    }
    return at < size ? at : -1;
}

/* A window as the inputs from `first` below `end`, d apart; `whole` counts the padding inside as well. */
typedef struct {
    int32_t first, end, whole;
} pl_stretch_t;

static inline pl_stretch_t pl_stretch(int32_t o, int32_t size, int32_t out, int32_t k, int32_t s, int32_t p, int32_t d)
{
    pl_stretch_t w;
    if (s == 0) {
        w.first = o * size / out;
        w.end = ((o + 1) * size + out - 1) / out;
        w.whole = w.end - w.first;
        return w;
    }
    w.first = o * s - p;
    w.end = w.first + (k - 1) * d + 1;
    w.whole = (w.end < size + p ? w.end : size + p) - w.first;
    w.first += w.first < 0 ? (d - 1 - w.first) / d * d : 0;
    w.end = w.end < size ? w.end : size;
    return w;
}

#endif
