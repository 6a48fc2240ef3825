#ifndef PL_IIR_F32_H
#define PL_IIR_F32_H

#include <stdint.h>

/* Second-order sections one after another, transposed direct form II, on rows of samples:
 *     y = b0 x + z0    z0 = b1 x + z1 - a1 y    z1 = b2 x - a2 y
 * b and a (sections, 3), a0 is 1; z (rows, sections, 2) continues as z_out. x may be y, and z may be z_out. */
static inline void pl_iir_f32(const float *x, const float *b, const float *a, const float *z, float *y, float *z_out,
                              int32_t rows, int32_t samples, int32_t sections)
{
    for (int32_t r = 0; r < rows; r++) {
        for (int32_t s = 0; s < sections; s++) {
            const float *in = (s == 0) ? &x[r * samples] : &y[r * samples];
            float *out = &y[r * samples];
            const float *state = &z[((r * sections) + s) * 2];
            float *next = &z_out[((r * sections) + s) * 2];
            const float b0 = b[3 * s];
            const float b1 = b[(3 * s) + 1];
            const float b2 = b[(3 * s) + 2];
            const float a1 = a[(3 * s) + 1];
            const float a2 = a[(3 * s) + 2];
            float z0 = state[0];
            float z1 = state[1];
            for (int32_t k = 0; k < samples; k++) {
                const float sample = in[k];
                const float result = (b0 * sample) + z0;
                z0 = ((b1 * sample) + z1) - (a1 * result);
                z1 = (b2 * sample) - (a2 * result);
                out[k] = result;
            }
            next[0] = z0;
            next[1] = z1;
        }
    }
}

#endif
