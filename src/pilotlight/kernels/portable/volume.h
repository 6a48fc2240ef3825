#ifndef PL_VOLUME_H
#define PL_VOLUME_H

#include <stdint.h>

/* Windows over volumes, PyTorch's order: x (n, c, id, ih, iw), y (n, oc, od, oh, ow). Images and sequences have depth
 * and height 1. Per dimension k elements per window, d apart, moved by s, padded by p; s is 0 for windows that divide
 * the input evenly (adaptive pooling), negative for transposed convolution. */
typedef struct {
    int32_t n;
    int32_t c;
    int32_t oc;
    int32_t groups;
    int32_t id;
    int32_t ih;
    int32_t iw;
    int32_t od;
    int32_t oh;
    int32_t ow;
    int32_t kd;
    int32_t kh;
    int32_t kw;
    int32_t sd;
    int32_t sh;
    int32_t sw;
    int32_t pd;
    int32_t ph;
    int32_t pw;
    int32_t dd;
    int32_t dh;
    int32_t dw;
    int32_t count_padding; // of average pooling
    int32_t divisor;
} pl_volume_t;

/* A window as the inputs from `first` below `end`, d apart; `whole` counts the padding inside as well. */
typedef struct {
    int32_t first;
    int32_t end;
    int32_t whole;
} pl_stretch_t;

static inline pl_stretch_t pl_stretch(int32_t o, int32_t size, int32_t out, int32_t k, int32_t s, int32_t p, int32_t d)
{
    pl_stretch_t w;
    if (s == 0) {
        w.first = o * size / out;
        w.end = (((o + 1) * size) + out - 1) / out;
        w.whole = w.end - w.first;
    } else {
        w.first = (o * s) - p;
        w.end = w.first + ((k - 1) * d) + 1;
        w.whole = ((w.end < (size + p)) ? w.end : (size + p)) - w.first;
        w.first += (w.first < 0) ? ((d - 1 - w.first) / d * d) : 0;
        w.end = (w.end < size) ? w.end : size;
    }
    return w;
}

/* The taps of one output along one dimension that lie inside the input: from `first` below `end`, `skip` apart, the
 * first on input `at`, the following ones `step` further. */
typedef struct {
    int32_t first;
    int32_t end;
    int32_t skip;
    int32_t at;
    int32_t step;
} pl_taps_t;

static inline pl_taps_t pl_taps(int32_t o, int32_t size, int32_t k, int32_t s, int32_t p, int32_t d)
{
    pl_taps_t t = {0, k, 1, (o * s) - p, d};
    if (s < 0) { // transposed: taps whose distance from the output is a multiple of the stride
        int32_t a = d;
        int32_t b = -s;
        while ((a % b) != 0) {
            const int32_t rest = a % b;
            a = b;
            b = rest;
        }
        t.skip = -s / b;
        t.step = -d / b;
        while ((t.first < k) && (((o + p - (t.first * d)) % s) != 0)) {
            t.first++;
        }
        t.at = (t.first < k) ? ((o + p - (t.first * d)) / -s) : 0;
    }
    for (; (t.first < t.end) && ((t.at < 0) || (t.at >= size)) && ((t.step > 0) == (t.at < 0)); t.first += t.skip) {
        t.at += t.step;
    }
    int32_t at = t.at;
    for (int32_t e = t.first; e < t.end; e += t.skip) {
        if ((at < 0) || (at >= size)) {
            t.end = e;
        }
        at += t.step;
    }
    return t;
}

#endif
