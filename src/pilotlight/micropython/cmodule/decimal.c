/* Exact decimal text of float32 and int64, by integer arithmetic alone: the same on every port. */
#include "repr.h"

/* A float32 is a whole number of 2^-149: 128 bits before the point, 160 after it. */
#define WHOLE 4
#define WORDS (WHOLE + 5)
#define BEFORE 45 /* decimal digits before the point, in groups of 9: more than the 39 there can be */
#define AFTER 153 /* and after it */
#define GROUP 1000000000u

static void group(uint32_t value, char *digits)
{
    for (int k = 8; k >= 0; k--) {
        digits[k] = (char)(value % 10);
        value /= 10;
    }
}

/* All digits of a magnitude; words[0] is the lowest. */
static void expand(uint32_t bits, char *digits)
{
    uint32_t words[WORDS] = {0};
    const int exponent = (int)(bits >> 23 & 0xff);
    const int at = 160 - 149 + (exponent ? exponent - 1 : 0);
    const uint64_t mantissa = (uint64_t)((bits & 0x7fffff) | (exponent ? 0x800000u : 0)) << (at & 31);
    words[at >> 5] = (uint32_t)mantissa;
    if (mantissa >> 32) {
        words[(at >> 5) + 1] = (uint32_t)(mantissa >> 32);
    }
    memset(digits, 0, BEFORE + AFTER);
    for (int g = BEFORE - 9; g >= 0; g -= 9) {
        uint64_t rest = 0;
        uint32_t any = 0;
        for (int k = WORDS - 1; k >= WORDS - WHOLE; k--) {
            any |= words[k];
            if (any) {
                rest = rest << 32 | words[k];
                words[k] = (uint32_t)(rest / GROUP);
                rest %= GROUP;
            }
        }
        if (!any) {
            break;
        }
        group((uint32_t)rest, digits + g);
    }
    for (int g = BEFORE; g < BEFORE + AFTER; g += 9) {
        uint64_t carry = 0;
        uint32_t any = 0;
        for (int k = 0; k < WORDS - WHOLE; k++) {
            any |= words[k];
            carry += (uint64_t)words[k] * GROUP;
            words[k] = (uint32_t)carry;
            carry >>= 32;
        }
        if (!any) {
            break;
        }
        group((uint32_t)carry, digits + g);
    }
}

/* Rounds to the digits before `cut`, ties to even. */
static void round_at(char *digits, int cut)
{
    if (cut >= BEFORE + AFTER) {
        return;
    }
    bool more = false;
    for (int k = cut + 1; k < BEFORE + AFTER && !more; k++) {
        more = digits[k] != 0;
    }
    bool up = digits[cut] > 5 || (digits[cut] == 5 && (more || digits[cut - 1] % 2));
    memset(digits + cut, 0, (size_t)(BEFORE + AFTER - cut));
    for (int k = cut - 1; up; k--) {
        up = digits[k] == 9;
        digits[k] = (char)(up ? 0 : digits[k] + 1);
    }
}

static int first_digit(const char *digits, int least)
{
    int k = 0;
    while (k < least && digits[k] == 0) {
        k++;
    }
    return k;
}

int pt_float_text(uint32_t bits, int precision, bool scientific, char *text)
{
    char digits[BEFORE + AFTER];
    const uint32_t magnitude = bits & 0x7fffffff;
    int n = 0;
    if (bits >> 31 && magnitude <= 0x7f800000) {
        text[n++] = '-';
    }
    if (magnitude >= 0x7f800000) {
        memcpy(text + n, magnitude > 0x7f800000 ? "nan" : "inf", 3);
        return n + 3;
    }
    expand(magnitude, digits);
    int first = BEFORE - 1; /* the digit that the text begins with */
    if (scientific && magnitude) {
        round_at(digits, first_digit(digits, BEFORE + AFTER) + precision + 1);
        first = first_digit(digits, BEFORE + AFTER);
    } else if (!scientific) {
        round_at(digits, BEFORE + precision);
        first = first_digit(digits, BEFORE - 1);
    }
    const int point = scientific ? first + 1 : BEFORE;
    for (int k = first; k < point + precision; k++) {
        if (k == point) {
            text[n++] = '.';
        }
        text[n++] = (char)('0' + (k < BEFORE + AFTER ? digits[k] : 0));
    }
    if (scientific) {
        const int exponent = BEFORE - 1 - first, size = exponent < 0 ? -exponent : exponent;
        const char tail[] = {'e', exponent < 0 ? '-' : '+', (char)('0' + size / 10), (char)('0' + size % 10)};
        memcpy(text + n, tail, sizeof(tail));
        n += (int)sizeof(tail);
    }
    return n;
}

int pt_int_text(int64_t value, char *text)
{
    char digits[20];
    int count = 0, n = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[count++] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    } while (rest);
    if (value < 0) {
        text[n++] = '-';
    }
    while (count) {
        text[n++] = digits[--count];
    }
    return n;
}
