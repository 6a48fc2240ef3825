#ifndef PL_DEPTHWISE_MVE_S8_H
#define PL_DEPTHWISE_MVE_S8_H

#include <stdbool.h>
#include <stdint.h>

#include "blocks_mve_s8.h"
#include "integer.h"

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
    int32_t top; // padding above and to the left
    int32_t left;
    int32_t dh; // dilation
    int32_t dw;
    int32_t first; // pixels of a row from first up to end have all their columns inside the input
    int32_t end;
    int32_t reverse;    // 1: from the last pixel to the first
    int32_t kind;       // of the block
    int32_t run;        // of the block that takes neighbouring pixels as one row of bytes, 16 at a time; 0: none
    int32_t run_w;      // where its part of w starts
    int32_t run_pixels; // in 16 bytes
    int32_t zx;         // what padded positions hold
    pl_requantize_t q;
} pl_depthwise_mve_t;

/* One filter per channel. Pixels whose windows are inside the input go by runs, the others one by one, their taps
 * outside on a row of padding. */
static inline void pl_depthwise_mve_s8(const pl_depthwise_mve_t *s,
                                       const int8_t *x,  // (n, ih, iw, c)
                                       const int32_t *w, // as pl_dw_mve_t says
                                       int8_t *y,        // (n, oh, ow, c)
                                       void *scratch)    // (taps + 1) pointers, then (c), the padding
{
    const int32_t taps = s->kh * s->kw;
    pl_window_mve_t window;
    window.taps = (const int8_t **)scratch;
    window.x = x;
    window.ih = s->ih;
    window.iw = s->iw;
    window.kh = s->kh;
    window.kw = s->kw;
    window.x_row = s->dh * s->iw * s->c;
    window.x_col = s->dw * s->c;
    window.dh = s->dh;
    window.dw = s->dw;
    int8_t *padding = (int8_t *)scratch + (pl_unsigned(taps + 1) * sizeof(const int8_t *));
    pl_dw_mve_t a;
    a.x = window.taps;
    a.w = w;
    a.blocks = pl_shr(s->c, 4);
    a.rest = s->c & 15;
    a.x_pixel = (((s->reverse != 0) ? -s->sw : s->sw) * s->c) - ((taps > 9) ? 0 : ((s->c + 15) & ~15));
    a.y_pixel = ((s->reverse != 0) ? -s->c : s->c) - (s->c & ~15);
    a.q.zy = s->q.zy; // one by one: a copy of the whole may become a call of memcpy
    a.q.shift = s->q.shift;
    a.q.lo = s->q.lo;
    a.q.hi = s->q.hi;
    a.taps = (taps > 9) ? ((taps + 1) & ~1) : taps;
    pl_fill_mve(padding, s->c, s->zx);
    window.padding = padding;
    int32_t image = (s->reverse != 0) ? (s->n - 1) : 0;
    int32_t row = (s->reverse != 0) ? (s->oh - 1) : 0;
    for (int32_t i = 0; i < (s->n * s->oh); i++) {
        const int32_t line = (image * s->oh) + row;
        const int32_t top = (row * s->sh) - s->top;
        const bool whole = (top >= 0) && ((top + ((s->kh - 1) * s->dh)) < s->ih);
        int32_t run = 1;
        for (int32_t done = 0; done < s->ow; done += run) {
            const int32_t col = (s->reverse != 0) ? (s->ow - 1 - done) : done;
            run = 1;
            if (whole && (col >= s->first) && (col < s->end)) {
                run = (s->reverse != 0) ? (col - s->first + 1) : (s->end - col);
            }
            a.pixels = run;
            window.top = top;
            window.left = (col * s->sw) - s->left;
            window.at = ((((image * s->ih) + top) * s->iw) + window.left) * s->c;
            pl_window_mve(&window);
            window.taps[taps] = window.taps[0]; // beyond nine taps an odd number is made even by one of weight zero
            a.y = y + (((line * s->ow) + col) * s->c);
            if ((s->run > 0) && (s->reverse == 0) && ((run * s->c) >= 16)) {
                a.w = w + s->run_w;
                a.pixels = 1;
                a.blocks = pl_shr(run * s->c, 4);
                a.rest = 0;
                pl_dw_mve(&a, s->run);
                run = a.blocks * s->run_pixels;
                a.w = w;
                a.blocks = 0;
                a.rest = s->c;
                continue;
            }
            pl_dw_mve(&a, s->kind);
        }
        row += (s->reverse != 0) ? -1 : 1;
        if ((row < 0) || (row == s->oh)) {
            image += (s->reverse != 0) ? -1 : 1;
            row = (s->reverse != 0) ? (s->oh - 1) : 0;
        }
    }
}

#endif
