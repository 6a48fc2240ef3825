#ifndef PL_RESIZE2D_H
#define PL_RESIZE2D_H

#include <stdint.h>

/* The shape of an image resize, channels last. */
typedef struct {
    int32_t n, ih, iw, c;  // input (n, ih, iw, c)
    int32_t oh, ow;        // output (n, oh, ow, c)
    int32_t align_corners; // the corner pixels of both images coincide
    float sh, sw;          // input pixels per output pixel
} pl_resize2d_t;

#endif
