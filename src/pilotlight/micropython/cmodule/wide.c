/* Conversion between int64 and float32 on 32-bit machines. */
#include "wide.h"

#if UINTPTR_MAX <= 0xffffffffu

int64_t pt_to_int(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    const int shift = (int)(bits >> 23 & 255) - 150;
    const uint64_t mantissa = (bits & 0x7fffffu) | 0x800000u;
    if (shift > 39) {
        return INT64_MIN;
    }
    const uint64_t size = shift >= 0 ? mantissa << shift : shift > -24 ? mantissa >> -shift : 0;
    return bits >> 31 ? -(int64_t)size : (int64_t)size;
}

/* 32 bits of which the last stands for all that are cut off round as the whole number would. */
float pt_to_float(int64_t x)
{
    const uint64_t size = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    const uint32_t high = (uint32_t)(size >> 32);
    const int shift = high ? 32 - __builtin_clz(high) : 0;
    const uint32_t kept = (uint32_t)(size >> shift);
    const uint32_t bits = (uint32_t)(127 + shift) << 23;
    float scale;
    memcpy(&scale, &bits, sizeof(scale));
    const float y = (float)(kept | (((uint64_t)kept << shift) != size)) * scale;
    return x < 0 ? -y : y;
}

#endif
