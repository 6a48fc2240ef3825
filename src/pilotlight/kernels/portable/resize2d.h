#ifndef PL_RESIZE2D_H
#define PL_RESIZE2D_H

#include <stdint.h>

/* The shape of an image resize, channels last. */
typedef struct {
    int32_t n; // input (n, ih, iw, c)
    int32_t ih;
    int32_t iw;
    int32_t c;
    int32_t oh; // output (n, oh, ow, c)
    int32_t ow;
    int32_t align_corners; // the corner pixels of both images coincide
    float sh;              // input pixels per output pixel
    float sw;
} pl_resize2d_t;

#endif
