/* Values of more than 64 bits: `n` little-endian 32-bit words, bits above the width zero. Every function takes the words
 * of its operands and writes those of its result; a result never overlaps an operand. `top` is the mask of the most
 * significant word. `n` is a constant everywhere: loops over a few words are unrolled, so that words can be registers. */
#ifndef WL_WIDE_H
#define WL_WIDE_H

/* Declares the type of values of n words. It may lie over the words of a reply. */
#define WL_WIDE(n) typedef struct { uint32_t w[n]; } __attribute__((may_alias)) wl_w##n

#define WL_UNROLL _Pragma("GCC unroll 8")

WL_INLINE void wl_wide_zero(uint32_t *out, uint32_t n)
{
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = 0;
}

WL_INLINE void wl_wide_set(uint32_t *out, uint32_t n, uint64_t value)
{
    wl_wide_zero(out, n);
    out[0] = (uint32_t)value;
    out[1] = (uint32_t)(value >> 32);
}

WL_INLINE void wl_wide_copy(uint32_t *out, uint32_t n, const uint32_t *a, uint32_t an)
{
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = i < an ? a[i] : 0;
}

WL_INLINE void wl_wide_add(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t n, uint32_t top)
{
    uint32_t carry = 0;
    WL_UNROLL for (uint32_t i = 0; i < n; i++) {
        uint64_t sum = (uint64_t)a[i] + b[i] + carry;
        out[i] = (uint32_t)sum;
        carry = (uint32_t)(sum >> 32);
    }
    out[n - 1] &= top;
}

WL_INLINE void wl_wide_sub(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t n, uint32_t top)
{
    uint32_t borrow = 0;
    WL_UNROLL for (uint32_t i = 0; i < n; i++) {
        uint64_t difference = (uint64_t)a[i] - b[i] - borrow;
        out[i] = (uint32_t)difference;
        borrow = (uint32_t)(difference >> 32) & 1;
    }
    out[n - 1] &= top;
}

WL_COLD void wl_wide_mul(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t n, uint32_t top)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t carry = 0;
        for (uint32_t j = 0; i + j < n; j++) {
            uint64_t term = (uint64_t)a[i] * b[j] + out[i + j] + carry;
            out[i + j] = (uint32_t)term;
            carry = (uint32_t)(term >> 32);
        }
    }
    out[n - 1] &= top;
}

WL_INLINE void wl_wide_not(uint32_t *out, const uint32_t *a, uint32_t n, uint32_t top)
{
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = ~a[i];
    out[n - 1] &= top;
}

WL_INLINE void wl_wide_neg(uint32_t *out, const uint32_t *a, uint32_t n, uint32_t top)
{
    uint32_t carry = 1;
    WL_UNROLL for (uint32_t i = 0; i < n; i++) {
        out[i] = ~a[i] + carry;
        carry = carry && out[i] == 0;
    }
    out[n - 1] &= top;
}

WL_INLINE void wl_wide_and(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t n)
{
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = a[i] & b[i];
}

WL_INLINE void wl_wide_or(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t n)
{
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = a[i] | b[i];
}

WL_INLINE void wl_wide_xor(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t n)
{
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = a[i] ^ b[i];
}

WL_INLINE bool wl_wide_eq(const uint32_t *a, const uint32_t *b, uint32_t n)
{
    uint32_t differ = 0;
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        differ |= a[i] ^ b[i];
    return differ == 0;
}

WL_INLINE bool wl_wide_is_zero(const uint32_t *a, uint32_t n)
{
    uint32_t any = 0;
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        any |= a[i];
    return any == 0;
}

/* Unsigned a < b. */
WL_INLINE bool wl_wide_less(const uint32_t *a, const uint32_t *b, uint32_t n)
{
    bool less = false;
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        less = a[i] != b[i] ? a[i] < b[i] : less;
    return less;
}

/* A shift count, saturated. */
WL_INLINE uint32_t wl_wide_count(const uint32_t *a, uint32_t n)
{
    return wl_wide_is_zero(a + 1, n - 1) ? a[0] : UINT32_MAX;
}

/* Word i of a value shifted right by so many bits; words past its end are zero. */
WL_INLINE uint32_t wl_wide_word(const uint32_t *a, uint32_t n, uint32_t i, uint32_t skip, uint32_t bits)
{
    uint32_t low = i + skip < n ? a[i + skip] : 0;
    uint32_t high = i + skip + 1 < n ? a[i + skip + 1] : 0;
    return bits ? low >> bits | high << (32 - bits) : low;
}

/* Left by any count: what leaves the top is lost, a count of the width or more gives zero. */
WL_INLINE void wl_wide_shl(uint32_t *out, const uint32_t *a, uint32_t n, uint32_t count, uint32_t top)
{
    if (count >= 32 * n) {
        wl_wide_zero(out, n);
        return;
    }
    uint32_t skip = count / 32, bits = count % 32;
    WL_UNROLL for (uint32_t i = 0; i < n; i++) {
        uint32_t high = i >= skip ? a[i - skip] : 0;
        uint32_t low = i > skip ? a[i - skip - 1] : 0;
        out[i] = bits ? high << bits | low >> (32 - bits) : high;
    }
    out[n - 1] &= top;
}

WL_INLINE void wl_wide_shr(uint32_t *out, const uint32_t *a, uint32_t n, uint32_t count)
{
    if (count >= 32 * n) {
        wl_wide_zero(out, n);
        return;
    }
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = wl_wide_word(a, n, i, count / 32, count % 32);
}

/* 64 bits from bit `lo` on; positions past the end are zero. */
WL_INLINE uint64_t wl_wide_slice64(const uint32_t *a, uint32_t n, uint32_t lo)
{
    uint32_t low = wl_wide_word(a, n, 0, lo / 32, lo % 32), high = wl_wide_word(a, n, 1, lo / 32, lo % 32);
    return (uint64_t)high << 32 | low;
}

/* Bits `lo ..` of a value of `an` words as one of n words. */
WL_INLINE void wl_wide_slice(uint32_t *out, uint32_t n, const uint32_t *a, uint32_t an, uint32_t lo, uint32_t top)
{
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = wl_wide_word(a, an, i, lo / 32, lo % 32);
    out[n - 1] &= top;
}

/* Puts a part into a value whose bits from `lo` on are still zero. */
WL_INLINE void wl_wide_place(uint32_t *out, uint32_t n, uint32_t lo, const uint32_t *part, uint32_t pn)
{
    uint32_t skip = lo / 32, bits = lo % 32;
    WL_UNROLL for (uint32_t i = 0; i < pn && skip + i < n; i++) {
        out[skip + i] |= part[i] << bits;
        if (bits && skip + i + 1 < n)
            out[skip + i + 1] |= part[i] >> (32 - bits);
    }
}

WL_INLINE void wl_wide_place64(uint32_t *out, uint32_t n, uint32_t lo, uint64_t part)
{
    uint32_t words[2] = { (uint32_t)part, (uint32_t)(part >> 32) };
    wl_wide_place(out, n, lo, words, 2);
}

/* Schoolbook division, a bit at a time. Division by zero: all ones, and the dividend. */
WL_COLD void wl_wide_divide(uint32_t *quotient, uint32_t *rest, const uint32_t *a, const uint32_t *b, uint32_t n,
                            uint32_t top)
{
    bool by_zero = true;
    for (uint32_t i = 0; i < n; i++) {
        by_zero = by_zero && b[i] == 0;
        quotient[i] = 0;
        rest[i] = 0;
    }
    if (by_zero) {
        for (uint32_t i = 0; i < n; i++) {
            quotient[i] = UINT32_MAX;
            rest[i] = a[i];
        }
        quotient[n - 1] &= top;
        return;
    }
    for (uint32_t bit = 32 * n; bit-- > 0;) {
        /* `rest` is below the divisor, so that doubling it overflows only if the divisor fills the top word. */
        uint32_t out_of_top = rest[n - 1] >> 31;
        for (uint32_t i = n; i-- > 0;)
            rest[i] = rest[i] << 1 | (i ? rest[i - 1] >> 31 : a[bit / 32] >> (bit % 32) & 1);
        bool less = false;
        for (uint32_t i = 0; i < n; i++)
            less = rest[i] != b[i] ? rest[i] < b[i] : less;
        if (out_of_top || !less) {
            uint32_t borrow = 0;
            for (uint32_t i = 0; i < n; i++) {
                uint64_t difference = (uint64_t)rest[i] - b[i] - borrow;
                rest[i] = (uint32_t)difference;
                borrow = (uint32_t)(difference >> 32) & 1;
            }
            quotient[bit / 32] |= UINT32_C(1) << (bit % 32);
        }
    }
}

#endif
