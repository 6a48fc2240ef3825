#ifndef PL_CONV_TRANSPOSE2D_F32_H
#define PL_CONV_TRANSPOSE2D_F32_H

#include <stdbool.h>

#include "conv2d_f32.h"

/* The shape of a 2-d transposed convolution, channels last. */
typedef struct {
    int32_t n; // input (n, ih, iw, ic)
    int32_t ih;
    int32_t iw;
    int32_t ic;
    int32_t oh; // output (n, oh, ow, oc), output padding included
    int32_t ow;
    int32_t oc;
    int32_t kh; // kernel
    int32_t kw;
    int32_t sh; // stride
    int32_t sw;
    int32_t top; // padding cut off above and to the left
    int32_t left;
    int32_t dh; // dilation
    int32_t dw;
    int32_t groups;  // of channels
    int32_t reverse; // 1: from the last row to the first
} pl_conv_transpose2d_t;

/* Along one axis, the outputs of one phase: those whose position, padding included, leaves the same remainder when
 * divided by the stride. They see the same taps, which lie on the input like a small dilated kernel of stride 1. */
typedef struct {
    int32_t first; // output
    int32_t count; // of outputs, a stride apart
    int32_t at;    // the input under the first output's first tap
    int32_t taps;
    int32_t dilation;
} pl_phase_t;

static inline void pl_phase(pl_phase_t *p, int32_t rest, int32_t out, int32_t kernel, int32_t stride, int32_t padding,
                            int32_t dilation)
{
    int32_t last = 0;
    int32_t previous = 0;
    p->first = (rest + stride - (padding % stride)) % stride;
    p->count = (p->first < out) ? ((out - p->first + stride - 1) / stride) : 0;
    p->taps = 0;
    for (int32_t k = 0; k < kernel; k++) {
        if ((((k * dilation) - rest) % stride) == 0) {
            previous = last;
            last = ((k * dilation) - rest) / stride;
            p->taps++;
        }
    }
    p->dilation = (p->taps > 1) ? (last - previous) : 1;
    p->at = ((p->first + padding) / stride) - last;
}

/* The taps of all phases before the one with this remainder. */
static inline int32_t pl_taps_before(int32_t rest, int32_t kernel, int32_t stride, int32_t dilation)
{
    int32_t taps = 0;
    for (int32_t k = 0; k < kernel; k++) {
        taps += ((k * dilation % stride) < rest) ? 1 : 0;
    }
    return taps;
}

/* A transposed convolution: for each phase of rows and of columns an ordinary convolution of stride 1, whose
 * outputs lie a stride apart. w holds, for each pair of phases, the kernel's taps in reverse, packed as for that
 * convolution; bias (oc) may be null. Output rows are the outer loop, so that y may overlap x by a distance known
 * beforehand: y below x forward, y above x in reverse. */
static inline void pl_conv_transpose2d_f32(const pl_conv_transpose2d_t *s,
                                           const float *x, // (n, ih, iw, ic)
                                           const float *w, const float *bias,
                                           float *y) // (n, oh, ow, oc)
{
    pl_conv2d_t c; // of one pair of phases, one row
    c.iw = s->iw;
    c.ic = s->ic;
    c.oc = s->sw * s->oc; // from one output to the next
    c.sw = 1;
    c.groups = s->groups;
    c.icg = s->ic / s->groups;
    c.ocg = s->oc / s->groups;
    c.depthwise = 0;
    c.reverse = 0;
    c.act = PL_ACT_NONE;
    for (int32_t i = 0; i < (s->n * s->oh); i++) {
        const int32_t at = (s->reverse != 0) ? ((s->n * s->oh) - 1 - i) : i;
        const int32_t image = at / s->oh;
        const int32_t row = at % s->oh;
        const int32_t rest = (row + s->top) % s->sh;
        const float *from = w + (pl_taps_before(rest, s->kh, s->sh, s->dh) * s->kw * c.icg * s->oc);
        pl_phase_t rows;
        pl_phase_t cols;
        pl_phase(&rows, rest, s->oh, s->kh, s->sh, s->top, s->dh);
        c.kh = rows.taps;
        c.dh = rows.dilation;
        const int32_t top = rows.at + ((row - rows.first) / s->sh);
        const pl_range_t reached = pl_clip_taps(top, c.kh, c.dh, s->ih);
        for (int32_t h = 0; h < s->sw; h++) {
            pl_phase(&cols, h, s->ow, s->kw, s->sw, s->left, s->dw);
            c.kw = cols.taps;
            c.dw = cols.dilation;
            c.ow = cols.count;
            c.left = -cols.at;
            pl_range_t taps = reached;
            pl_range_t inside = pl_inside(&c);
            const bool seen = (taps.end > taps.first) && (c.kw > 0);
            const int32_t first = seen ? ((image * s->ih) + top + (taps.first * c.dh)) : 0;
            if (!seen) { // nothing but the bias
                taps.end = taps.first;
                inside.end = inside.first;
            }
            pl_conv2d_row_f32(&c, taps, inside, x + (first * s->iw * s->ic), from, bias,
                              y + (((at * s->ow) + cols.first) * s->oc));
            from = &from[rows.taps * cols.taps * c.icg * s->oc];
        }
    }
}

#endif
