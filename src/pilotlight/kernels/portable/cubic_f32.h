#ifndef PL_CUBIC_F32_H
#define PL_CUBIC_F32_H

/* The weights of four neighbours for a point at t in 0..1 after the second: cubic convolution with A = -3/4. */
static inline void pl_cubic_weights(float t, float *w)
{
    const float u = 1.0f - t;
    w[0] = (((((-0.75f * (t + 1.0f)) + 3.75f) * (t + 1.0f)) - 6.0f) * (t + 1.0f)) + 3.0f;
    w[1] = (((1.25f * t) - 2.25f) * t * t) + 1.0f;
    w[2] = (((1.25f * u) - 2.25f) * u * u) + 1.0f;
    w[3] = (((((-0.75f * (u + 1.0f)) + 3.75f) * (u + 1.0f)) - 6.0f) * (u + 1.0f)) + 3.0f;
}

#endif
