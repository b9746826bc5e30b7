/* Values of more than 128 bits: `n` little-endian 64-bit words, bits above the width zero. Every function takes the
 * words of its operands and writes those of its result; a result never overlaps an operand. `top` is the mask of the
 * most significant word. */
#ifndef WL_WIDE_H
#define WL_WIDE_H

#include "base.h"

/* Declares the type of values of n words. */
#define WL_WIDE(n) typedef struct { uint64_t w[n]; } wl_w##n

WL_FUNCTION void wl_wide_zero(uint64_t *out, uint32_t n) { memset(out, 0, n * sizeof *out); }

WL_FUNCTION void wl_wide_set(uint64_t *out, uint32_t n, wl_u128 value)
{
    wl_wide_zero(out, n);
    out[0] = (uint64_t)value;
    out[1] = (uint64_t)(value >> 64);
}

WL_FUNCTION void wl_wide_copy(uint64_t *out, uint32_t n, const uint64_t *a, uint32_t an)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = i < an ? a[i] : 0;
}

WL_FUNCTION void wl_wide_add(uint64_t *out, const uint64_t *a, const uint64_t *b, uint32_t n, uint64_t top)
{
    uint64_t carry = 0;
    for (uint32_t i = 0; i < n; i++) {
        wl_u128 sum = (wl_u128)a[i] + b[i] + carry;
        out[i] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
    out[n - 1] &= top;
}

WL_FUNCTION void wl_wide_sub(uint64_t *out, const uint64_t *a, const uint64_t *b, uint32_t n, uint64_t top)
{
    uint64_t borrow = 0;
    for (uint32_t i = 0; i < n; i++) {
        wl_u128 difference = (wl_u128)a[i] - b[i] - borrow;
        out[i] = (uint64_t)difference;
        borrow = (uint64_t)(difference >> 64) & 1;
    }
    out[n - 1] &= top;
}

WL_FUNCTION void wl_wide_mul(uint64_t *out, const uint64_t *a, const uint64_t *b, uint32_t n, uint64_t top)
{
    wl_wide_zero(out, n);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t carry = 0;
        for (uint32_t j = 0; i + j < n; j++) {
            wl_u128 term = (wl_u128)a[i] * b[j] + out[i + j] + carry;
            out[i + j] = (uint64_t)term;
            carry = (uint64_t)(term >> 64);
        }
    }
    out[n - 1] &= top;
}

WL_FUNCTION void wl_wide_not(uint64_t *out, const uint64_t *a, uint32_t n, uint64_t top)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = ~a[i];
    out[n - 1] &= top;
}

WL_FUNCTION void wl_wide_neg(uint64_t *out, const uint64_t *a, uint32_t n, uint64_t top)
{
    uint64_t carry = 1;
    for (uint32_t i = 0; i < n; i++) {
        out[i] = ~a[i] + carry;
        carry = carry && out[i] == 0;
    }
    out[n - 1] &= top;
}

WL_FUNCTION void wl_wide_and(uint64_t *out, const uint64_t *a, const uint64_t *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = a[i] & b[i];
}

WL_FUNCTION void wl_wide_or(uint64_t *out, const uint64_t *a, const uint64_t *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = a[i] | b[i];
}

WL_FUNCTION void wl_wide_xor(uint64_t *out, const uint64_t *a, const uint64_t *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = a[i] ^ b[i];
}

WL_FUNCTION bool wl_wide_eq(const uint64_t *a, const uint64_t *b, uint32_t n)
{
    return memcmp(a, b, n * sizeof *a) == 0;
}

WL_FUNCTION bool wl_wide_is_zero(const uint64_t *a, uint32_t n)
{
    uint64_t any = 0;
    for (uint32_t i = 0; i < n; i++)
        any |= a[i];
    return any == 0;
}

/* Unsigned a < b. */
WL_FUNCTION bool wl_wide_less(const uint64_t *a, const uint64_t *b, uint32_t n)
{
    for (uint32_t i = n; i-- > 0;)
        if (a[i] != b[i])
            return a[i] < b[i];
    return false;
}

/* A shift count, saturated. */
WL_FUNCTION uint64_t wl_wide_count(const uint64_t *a, uint32_t n)
{
    return wl_wide_is_zero(a + 1, n - 1) ? a[0] : UINT64_MAX;
}

/* Left by any count: what leaves the top is lost, a count of the width or more gives zero. */
WL_FUNCTION void wl_wide_shl(uint64_t *out, const uint64_t *a, uint32_t n, uint64_t count, uint64_t top)
{
    if (count >= n * UINT64_C(64)) {
        wl_wide_zero(out, n);
        return;
    }
    uint32_t skip = (uint32_t)(count / 64), bits = (uint32_t)(count % 64);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t high = i >= skip ? a[i - skip] : 0;
        uint64_t low = i > skip ? a[i - skip - 1] : 0;
        out[i] = bits ? high << bits | low >> (64 - bits) : high;
    }
    out[n - 1] &= top;
}

WL_FUNCTION void wl_wide_shr(uint64_t *out, const uint64_t *a, uint32_t n, uint64_t count)
{
    if (count >= n * UINT64_C(64)) {
        wl_wide_zero(out, n);
        return;
    }
    uint32_t skip = (uint32_t)(count / 64), bits = (uint32_t)(count % 64);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t low = i + skip < n ? a[i + skip] : 0;
        uint64_t high = i + skip + 1 < n ? a[i + skip + 1] : 0;
        out[i] = bits ? low >> bits | high << (64 - bits) : low;
    }
}

/* 128 bits from bit `lo` on; positions past the end are zero. */
WL_FUNCTION wl_u128 wl_wide_slice128(const uint64_t *a, uint32_t n, uint32_t lo)
{
    uint32_t skip = lo / 64, bits = lo % 64;
    uint64_t w0 = skip < n ? a[skip] : 0, w1 = skip + 1 < n ? a[skip + 1] : 0, w2 = skip + 2 < n ? a[skip + 2] : 0;
    if (bits == 0)
        return WL_U128(w1, w0);
    return WL_U128(w1 >> bits | w2 << (64 - bits), w0 >> bits | w1 << (64 - bits));
}

/* Bits `lo ..` of a value of `an` words as one of n words. */
WL_FUNCTION void wl_wide_slice(uint64_t *out, uint32_t n, const uint64_t *a, uint32_t an, uint32_t lo, uint64_t top)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = (uint64_t)wl_wide_slice128(a, an, lo + 64 * i);
    out[n - 1] &= top;
}

/* Puts a part into a value whose bits from `lo` on are still zero. */
WL_FUNCTION void wl_wide_place(uint64_t *out, uint32_t n, uint32_t lo, const uint64_t *part, uint32_t pn)
{
    uint32_t skip = lo / 64, bits = lo % 64;
    for (uint32_t i = 0; i < pn && skip + i < n; i++) {
        out[skip + i] |= part[i] << bits;
        if (bits && skip + i + 1 < n)
            out[skip + i + 1] |= part[i] >> (64 - bits);
    }
}

WL_FUNCTION void wl_wide_place128(uint64_t *out, uint32_t n, uint32_t lo, wl_u128 part)
{
    uint64_t words[2] = { (uint64_t)part, (uint64_t)(part >> 64) };
    wl_wide_place(out, n, lo, words, 2);
}

/* Schoolbook division, a bit at a time. Division by zero: all ones, and the dividend. */
WL_FUNCTION void wl_wide_divide(uint64_t *quotient, uint64_t *rest, const uint64_t *a, const uint64_t *b, uint32_t n,
                                uint64_t top)
{
    if (wl_wide_is_zero(b, n)) {
        memset(quotient, 0xff, n * sizeof *quotient);
        quotient[n - 1] &= top;
        memcpy(rest, a, n * sizeof *rest);
        return;
    }
    wl_wide_zero(quotient, n);
    wl_wide_zero(rest, n);
    for (uint32_t bit = 64 * n; bit-- > 0;) {
        /* `rest` is below the divisor, so that doubling it overflows only if the divisor fills the top word. */
        uint64_t out_of_top = rest[n - 1] >> 63;
        for (uint32_t i = n; i-- > 0;)
            rest[i] = rest[i] << 1 | (i ? rest[i - 1] >> 63 : a[bit / 64] >> (bit % 64) & 1);
        if (out_of_top || !wl_wide_less(rest, b, n)) {
            uint64_t borrow = 0;
            for (uint32_t i = 0; i < n; i++) {
                wl_u128 difference = (wl_u128)rest[i] - b[i] - borrow;
                rest[i] = (uint64_t)difference;
                borrow = (uint64_t)(difference >> 64) & 1;
            }
            quotient[bit / 64] |= UINT64_C(1) << (bit % 64);
        }
    }
}

#endif
