#ifndef PL_Q_LOG_MEL_H
#define PL_Q_LOG_MEL_H

#include "mem.h"
#include "requantize.h"
#include "rfft_s16.h"

/* Logarithms of mel energies of frames of 16-bit samples; ops/spectrum/int8.py states the formula. */
typedef struct {
    int32_t rows;
    int32_t samples; // of a row
    int32_t frames;  // of a row
    int32_t hop;
    int32_t n;      // points of a transform
    int32_t first;  // of the window
    int32_t length; // of the window
    int32_t mels;
    int32_t offset; // added to an energy: offset * 2^power in the units of exponent 0
    int32_t power;
    int32_t bias; // added to a logarithm, in units of 2^-16
    int32_t m;
    pl_requantize_t out;
} pl_q_log_mel_t;

/* The number of bits of v. */
static inline int32_t pl_log_bits(uint32_t v)
{
#if defined(__GNUC__) && defined(__ARM_FEATURE_CLZ)
    int32_t zeros;
    __asm__("clz %0, %1" : "=r"(zeros) : "r"(v));
    return 32 - zeros;
#else
    return pl_bits_u32(v);
#endif
}

/* log2(v) * 2^16 for 0 < v < 2^63: the position of the highest bit, and a polynomial of the sixteen bits after it. */
static inline int32_t pl_log2_u64(uint64_t v)
{
    const uint32_t upper = (uint32_t)(v >> 32);
    const uint32_t lower = (uint32_t)v;
    uint32_t top; // the highest bit of v at the top
    uint32_t f;
    uint32_t curve;
    int32_t bits;
    if (upper != 0u) {
        bits = pl_log_bits(upper);
        top = (upper << pl_unsigned(32 - bits)) | (lower >> pl_unsigned(bits));
        bits += 32;
    } else {
        bits = pl_log_bits(lower);
        top = lower << pl_unsigned(32 - bits);
    }
    f = (top >> 15) & 0xffffu;
    curve = 28761u - ((f * (15691u - ((f * 5407u) >> 16))) >> 16);
    return ((bits - 1) * 65536) + pl_signed(f + ((((f * (65536u - f)) >> 16) * curve) >> 16));
}

/* Two samples, and two windowed ones: with the DSP extension in one register. */
#if !defined(PILOTLIGHT_PORTABLE) && defined(__GNUC__) && defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED)
typedef struct {
    uint32_t word;
} __attribute__((__packed__, __may_alias__)) pl_log_mel_pair;

static inline uint32_t pl_log_mel_energy(const int16_t *x)
{
    const uint32_t pair = ((const pl_log_mel_pair *)(const void *)x)->word;
    uint32_t y;
    __asm__("smuad %0, %1, %1" : "=r"(y) : "r"(pair));
    return y;
}

static inline void pl_log_mel_times(const int16_t *x, const int16_t *w, int32_t half, int32_t down, int16_t *v)
{
    const uint32_t samples = ((const pl_log_mel_pair *)(const void *)x)->word;
    const uint32_t weights = ((const pl_log_mel_pair *)(const void *)w)->word;
    int32_t first;
    int32_t second;
    __asm__("smlabb %0, %1, %2, %3" : "=r"(first) : "r"(samples), "r"(weights), "r"(half));
    __asm__("smlatt %0, %1, %2, %3" : "=r"(second) : "r"(samples), "r"(weights), "r"(half));
    first = pl_shr_by(first, down);
    second = pl_shr_by(second, down);
    __asm__("pkhbt %0, %0, %1, lsl #16" : "+r"(first) : "r"(second));
    ((pl_log_mel_pair *)(void *)v)->word = pl_unsigned(first);
}
#else
static inline uint32_t pl_log_mel_energy(const int16_t *x)
{
    return pl_unsigned(x[0] * x[0]) + pl_unsigned(x[1] * x[1]);
}

static inline void pl_log_mel_times(const int16_t *x, const int16_t *w, int32_t half, int32_t down, int16_t *v)
{
    v[0] = (int16_t)pl_shr_by((x[0] * w[0]) + half, down);
    v[1] = (int16_t)pl_shr_by((x[1] * w[1]) + half, down);
}
#endif

/* count zeros. */
static inline void pl_log_mel_zeros(int32_t count, int16_t *v_start)
{
    int16_t *v = v_start;
    for (int32_t left = count; left > 0; left--) {
        PL_BARRIER(v);
        *v = 0;
        v++;
    }
}

/* A frame of samples times the window, shifted left as far as its samples allow; returns by how much. */
PL_Q_APART int32_t pl_log_mel_window(const pl_q_log_mel_t *s, const int16_t *x, const int16_t *window, int16_t *v_start)
{
    int16_t *v = &v_start[s->first];
    const int32_t pairs = s->length & ~1;
    const int32_t last = s->length - 1;
    const int32_t fours = pairs & ~3;
    uint32_t seen = 0u;
    int32_t down;
    int32_t half;
    for (int32_t i = 0; i < fours; i += 4) {
        seen |= pl_log_mel_energy(&x[i]);
        seen |= pl_log_mel_energy(&x[i + 2]);
    }
    seen |= (fours != pairs) ? pl_log_mel_energy(&x[fours]) : 0u;
    seen |= (last == pairs) ? pl_unsigned(x[last] * x[last]) : 0u;
    down = pl_q_clamp(pl_shr(pl_log_bits(seen) + 1, 1u), 1, 15);
    half = pl_signed((1u << pl_unsigned(down)) >> 1);
    for (int32_t i = 0; i < fours; i += 4) {
        pl_log_mel_times(&x[i], &window[i], half, down, &v[i]);
        pl_log_mel_times(&x[i + 2], &window[i + 2], half, down, &v[i + 2]);
    }
    if (fours != pairs) {
        pl_log_mel_times(&x[fours], &window[fours], half, down, &v[fours]);
    }
    if (last == pairs) {
        v[last] = (int16_t)pl_shr_by((x[last] * window[last]) + half, down);
    }
    pl_log_mel_zeros(s->first, v_start);
    pl_log_mel_zeros(s->n - s->first - s->length, &v[s->length]);
    return 15 - down;
}

/* A sum of 64 bits. */
typedef struct {
    uint32_t low;
    uint32_t high;
} pl_log_mel_sum_t;

/* The sum, and an energy times a weight. */
static inline pl_log_mel_sum_t pl_log_mel_add(pl_log_mel_sum_t sum_start, uint32_t energy, int16_t weight)
{
    pl_log_mel_sum_t sum = sum_start;
    const uint32_t w = (uint32_t)(int32_t)weight;
#if defined(__GNUC__) && defined(__ARM_ARCH_ISA_THUMB) && (__ARM_ARCH_ISA_THUMB == 2)
    __asm__("umlal %0, %1, %2, %3" : "+r"(sum.low), "+r"(sum.high) : "r"(energy), "r"(w));
#else
    uint64_t next = ((uint64_t)sum.high << 32) | sum.low;
#if defined(__ARM_ARCH_ISA_THUMB) // Armv6-M has no long multiply
    next += ((uint64_t)((energy >> 16) * w) << 16) + ((energy & 0xffffu) * w);
#else
    next += (uint64_t)energy * w;
#endif
    sum.low = (uint32_t)next;
    sum.high = (uint32_t)(next >> 32);
#endif
    return sum;
}

/* The features of a frame with this exponent. */
PL_Q_APART void pl_log_mel_logs(const pl_q_log_mel_t *s, int32_t exponent, const int16_t *bins, const int16_t *bands,
                                int8_t *y)
{
    const int16_t *w = bands;
    const int32_t power = s->power - exponent;
    const int32_t down = (power > 31) ? (power - 31) : 0; // of the energies, where the offset alone would not fit
    const int32_t up = power - down;
    const int32_t bias = s->bias + ((exponent + down) * 65536);
    uint64_t offset = 0u;
    if (up >= 0) {
        offset = (uint64_t)pl_unsigned(s->offset) << pl_unsigned(up);
    } else if (up > -32) {
        offset = (pl_unsigned(s->offset) + ((1u << pl_unsigned(-up)) >> 1)) >> pl_unsigned(-up);
    } else {
        /* too small to count */
    }
    for (int32_t i = 0; i < s->mels; i++) {
        const int16_t *x = &bins[2 * w[0]];
        const int16_t *end = &x[2 * w[1]];
        pl_log_mel_sum_t energy = {0u, 0u};
        uint64_t sum;
        w = &w[2];
        while (x != end) { // an even number of bins
            energy = pl_log_mel_add(energy, pl_log_mel_energy(x), w[0]);
            energy = pl_log_mel_add(energy, pl_log_mel_energy(&x[2]), w[1]);
            x = &x[4];
            w = &w[2];
        }
        sum = ((uint64_t)energy.high << 32) | energy.low;
        if (down > 0) {
            sum = (down < 64) ? (sum >> pl_unsigned(down)) : 0u;
        }
        sum += offset;
        y[i] = pl_requantize_s8(&s->out, pl_log2_u64((sum != 0u) ? sum : 1u) + bias, s->m);
    }
}

static inline void pl_q_log_mel(const pl_q_log_mel_t *s,
                                const int16_t *x,      // (rows, samples)
                                const int16_t *window, // (length)
                                const int16_t *table,  // of the transform
                                const int16_t *bands,  // for each filter its first bin, the number of bins, weights
                                int8_t *y_start,       // (rows, frames, mels)
                                int16_t *scratch)      // (n / 2 + 2, 2) and (n)
{
    int16_t *bins = scratch;
    int8_t *y = y_start;
    for (int32_t row = 0; row < s->rows; row++) {
        for (int32_t frame = 0; frame < s->frames; frame++) {
            const int16_t *start = &x[(row * s->samples) + (frame * s->hop) + s->first];
            const int32_t up = pl_log_mel_window(s, start, window, bins);
            const int32_t exponent = pl_rfft_row_s16(s->n, bins, table, bins, &scratch[s->n + 4]);
            bins[s->n + 2] = 0; // what a filter reads of the bin after the last, with a weight of 0
            bins[s->n + 3] = 0;
            pl_log_mel_logs(s, 2 * (exponent - up), bins, bands, y);
            y = &y[s->mels];
        }
    }
}

#endif
