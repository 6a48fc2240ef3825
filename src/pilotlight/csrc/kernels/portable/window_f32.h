#ifndef PL_WINDOW_F32_H
#define PL_WINDOW_F32_H

#include <stdint.h>

/* The shape of a 2-d convolution, channels last. Divisions are done by whoever fills it in. */
typedef struct {
    int32_t n, ih, iw, ic; // input (n, ih, iw, ic)
    int32_t oh, ow, oc;    // output (n, oh, ow, oc)
    int32_t kh, kw;        // kernel
    int32_t sh, sw;        // stride
    int32_t pt, pl;        // padding above and to the left; below and to the right it follows from oh and ow
    int32_t dh, dw;        // dilation
    int32_t groups;        // of channels
    int32_t icg, ocg;      // ic / groups, oc / groups
    int32_t act;           // PL_ACT_*
    float lo, hi;          // limits of PL_ACT_CLAMP
} pl_conv2d_t;

/* A half-open range. */
typedef struct {
    int32_t first, end;
} pl_range_t;

/* The taps of a kernel that fall inside 0..size when tap 0 stands at `at`. */
static inline pl_range_t pl_clip_taps(int32_t at, int32_t taps, int32_t dilation, int32_t size)
{
    pl_range_t t = {0, taps};
    while (t.first < taps && at + t.first * dilation < 0) {
        t.first++;
    }
    while (t.end > t.first && at + (t.end - 1) * dilation >= size) {
        t.end--;
    }
    return t;
}

/* The pixels of an output row whose kernel columns are all inside the input. */
static inline pl_range_t pl_inside(const pl_conv2d_t *s)
{
    pl_range_t t = {0, s->ow};
    while (t.first < s->ow && t.first * s->sw < s->pl) {
        t.first++;
    }
    while (t.end > t.first && (t.end - 1) * s->sw - s->pl + (s->kw - 1) * s->dw >= s->iw) {
        t.end--;
    }
    return t;
}

#endif
