#ifndef PL_CONV_TRANSPOSE2D_F32_H
#define PL_CONV_TRANSPOSE2D_F32_H

#include "conv2d_f32.h"

/* The shape of a 2-d transposed convolution, channels last. */
typedef struct {
    int32_t n, ih, iw, ic; // input (n, ih, iw, ic)
    int32_t oh, ow, oc;    // output (n, oh, ow, oc), output padding included
    int32_t kh, kw;        // kernel
    int32_t sh, sw;        // stride
    int32_t pt, pl;        // padding taken off above and to the left
    int32_t dh, dw;        // dilation
    int32_t groups;        // of channels
} pl_conv_transpose2d_t;

/* Along one axis, the outputs of one phase: those whose place, padding included, leaves the same rest when divided
 * by the stride. They see the same taps, and those stand on the input like a small dilated kernel of stride 1. */
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
    int32_t last = 0, previous = 0;
    p->first = (rest + stride - padding % stride) % stride;
    p->count = p->first < out ? (out - p->first + stride - 1) / stride : 0;
    p->taps = 0;
    for (int32_t k = 0; k < kernel; k++) {
        if ((k * dilation - rest) % stride == 0) {
            previous = last;
            last = (k * dilation - rest) / stride;
            p->taps++;
        }
    }
    p->dilation = p->taps > 1 ? last - previous : 1;
    p->at = (p->first + padding) / stride - last;
}

/* A transposed convolution: for each phase of rows and of columns an ordinary convolution of stride 1, whose
 * outputs lie a stride apart. w holds, for each pair of phases, the kernel's taps in reverse, packed as for that
 * convolution; bias (oc) may be null. y must not overlap x. */
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
    for (int32_t v = 0; v < s->sh; v++) {
        pl_phase_t rows, cols;
        pl_phase(&rows, v, s->oh, s->kh, s->sh, s->pt, s->dh);
        for (int32_t h = 0; h < s->sw; h++) {
            pl_phase(&cols, h, s->ow, s->kw, s->sw, s->pl, s->dw);
            c.kh = rows.taps;
            c.kw = cols.taps;
            c.dh = rows.dilation;
            c.dw = cols.dilation;
            c.ow = cols.count;
            c.pl = -cols.at;
            for (int32_t i = 0; i < s->n * rows.count; i++) {
                const int32_t image = i / rows.count, row = i % rows.count;
                pl_range_t taps = pl_clip_taps(rows.at + row, c.kh, c.dh, s->ih), inside = pl_inside(&c);
                const int32_t seen = taps.end > taps.first && c.kw > 0;
                const int32_t first = seen ? image * s->ih + rows.at + row + taps.first * c.dh : 0;
                float *out = y + ((image * s->oh + rows.first + row * s->sh) * s->ow + cols.first) * s->oc;
                if (!seen) { // nothing but the bias
                    taps.end = taps.first;
                    inside.end = inside.first;
                }
                pl_conv2d_row_f32(&c, taps, inside, x + first * s->iw * s->ic, w, bias, out);
            }
            w += rows.taps * cols.taps * c.icg * s->oc;
        }
    }
}

#endif
