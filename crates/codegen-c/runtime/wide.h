/* Values that are larger than any scalar: `n` little-endian words (wl_limb), in which bits above
 * the width are zero. Every function takes the words of its operands and writes those of its
 * result; a result never overlaps an operand. `top` is the mask of the most significant word.
 * `n` is always a constant: if loops over a few words are unrolled (WL_UNROLL), words can be
 * registers.
 *
 * Processors of 64 bits and of 32 bits share this file. The file that includes it must define
 * wl_limb, wl_double_limb, WL_LIMB_BITS, WL_DOUBLE_LIMB (makes one of two words), and the
 * declaration of functions: WL_WIDE_FUNCTION, and WL_WIDE_SELDOM for long ones. */
#ifndef WL_WIDE_H
#define WL_WIDE_H

/* Declares the type of values of n words. It may alias the words of a reply. */
#define WL_WIDE(n) typedef struct { wl_limb w[n]; } __attribute__((may_alias)) wl_w##n

WL_WIDE_FUNCTION void wl_wide_zero(wl_limb *out, uint32_t n)
{
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = 0;
}

WL_WIDE_FUNCTION void wl_wide_set(wl_limb *out, uint32_t n, wl_double_limb value)
{
    wl_wide_zero(out, n);
    out[0] = (wl_limb)value;
    out[1] = (wl_limb)(value >> WL_LIMB_BITS);
}

WL_WIDE_FUNCTION void wl_wide_copy(wl_limb *out, uint32_t n, const wl_limb *a, uint32_t an)
{
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = i < an ? a[i] : 0;
}

WL_WIDE_FUNCTION void wl_wide_add(wl_limb *out, const wl_limb *a, const wl_limb *b, uint32_t n, wl_limb top)
{
    wl_limb carry = 0;
    WL_UNROLL for (uint32_t i = 0; i < n; i++) {
        wl_double_limb sum = (wl_double_limb)a[i] + b[i] + carry;
        out[i] = (wl_limb)sum;
        carry = (wl_limb)(sum >> WL_LIMB_BITS);
    }
    out[n - 1] &= top;
}

WL_WIDE_FUNCTION void wl_wide_sub(wl_limb *out, const wl_limb *a, const wl_limb *b, uint32_t n, wl_limb top)
{
    wl_limb borrow = 0;
    WL_UNROLL for (uint32_t i = 0; i < n; i++) {
        wl_double_limb difference = (wl_double_limb)a[i] - b[i] - borrow;
        out[i] = (wl_limb)difference;
        borrow = (wl_limb)(difference >> WL_LIMB_BITS) & 1;
    }
    out[n - 1] &= top;
}

WL_WIDE_SELDOM void wl_wide_mul(wl_limb *out, const wl_limb *a, const wl_limb *b, uint32_t n, wl_limb top)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = 0;
    for (uint32_t i = 0; i < n; i++) {
        wl_limb carry = 0;
        for (uint32_t j = 0; i + j < n; j++) {
            wl_double_limb term = (wl_double_limb)a[i] * b[j] + out[i + j] + carry;
            out[i + j] = (wl_limb)term;
            carry = (wl_limb)(term >> WL_LIMB_BITS);
        }
    }
    out[n - 1] &= top;
}

WL_WIDE_FUNCTION void wl_wide_not(wl_limb *out, const wl_limb *a, uint32_t n, wl_limb top)
{
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = ~a[i];
    out[n - 1] &= top;
}

WL_WIDE_FUNCTION void wl_wide_neg(wl_limb *out, const wl_limb *a, uint32_t n, wl_limb top)
{
    wl_limb carry = 1;
    WL_UNROLL for (uint32_t i = 0; i < n; i++) {
        out[i] = ~a[i] + carry;
        carry = carry && out[i] == 0;
    }
    out[n - 1] &= top;
}

WL_WIDE_FUNCTION void wl_wide_and(wl_limb *out, const wl_limb *a, const wl_limb *b, uint32_t n)
{
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = a[i] & b[i];
}

WL_WIDE_FUNCTION void wl_wide_or(wl_limb *out, const wl_limb *a, const wl_limb *b, uint32_t n)
{
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = a[i] | b[i];
}

WL_WIDE_FUNCTION void wl_wide_xor(wl_limb *out, const wl_limb *a, const wl_limb *b, uint32_t n)
{
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = a[i] ^ b[i];
}

WL_WIDE_FUNCTION bool wl_wide_eq(const wl_limb *a, const wl_limb *b, uint32_t n)
{
    wl_limb differ = 0;
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        differ |= a[i] ^ b[i];
    return differ == 0;
}

WL_WIDE_FUNCTION bool wl_wide_is_zero(const wl_limb *a, uint32_t n)
{
    wl_limb any = 0;
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        any |= a[i];
    return any == 0;
}

/* Returns whether a < b, unsigned. */
WL_WIDE_FUNCTION bool wl_wide_less(const wl_limb *a, const wl_limb *b, uint32_t n)
{
    bool less = false;
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        less = a[i] != b[i] ? a[i] < b[i] : less;
    return less;
}

WL_WIDE_FUNCTION void wl_wide_min(wl_limb *out, const wl_limb *a, const wl_limb *b, uint32_t n)
{
    bool less = wl_wide_less(a, b, n);
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = less ? a[i] : b[i];
}

WL_WIDE_FUNCTION void wl_wide_max(wl_limb *out, const wl_limb *a, const wl_limb *b, uint32_t n)
{
    bool less = wl_wide_less(a, b, n);
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = less ? b[i] : a[i];
}

/* The number of bits that are 1. */
WL_WIDE_FUNCTION void wl_wide_popcount(wl_limb *out, const wl_limb *a, uint32_t n)
{
    wl_limb count = 0;
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        count += wl_popcount64(a[i]);
    wl_wide_set(out, n, count);
}

/* The number of zeros above the highest one of a value of `width` bits. */
WL_WIDE_FUNCTION void wl_wide_clz(wl_limb *out, const wl_limb *a, uint32_t n, uint32_t width)
{
    wl_limb significant = 0;
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        significant = a[i] ? i * WL_LIMB_BITS + wl_significant64(a[i]) : significant;
    wl_wide_set(out, n, width - significant);
}

/* Returns a shift count, saturated. */
WL_WIDE_FUNCTION wl_limb wl_wide_count(const wl_limb *a, uint32_t n)
{
    return wl_wide_is_zero(a + 1, n - 1) ? a[0] : (wl_limb)-1;
}

/* Returns word i of a value shifted right by `skip` words and `bits` bits; words past its end
 * are zero. */
WL_INLINE wl_limb wl_wide_word(const wl_limb *a, uint32_t n, uint32_t i, uint32_t skip, uint32_t bits)
{
    wl_limb low = i + skip < n ? a[i + skip] : 0;
    wl_limb high = i + skip + 1 < n ? a[i + skip + 1] : 0;
    return bits ? low >> bits | high << (WL_LIMB_BITS - bits) : low;
}

/* Shifts left by any count: bits past the top are lost, and a count of the width or more gives
 * zero. */
WL_WIDE_FUNCTION void wl_wide_shl(wl_limb *out, const wl_limb *a, uint32_t n, wl_limb count, wl_limb top)
{
    if (count >= WL_LIMB_BITS * n) {
        wl_wide_zero(out, n);
        return;
    }
    uint32_t skip = count / WL_LIMB_BITS, bits = count % WL_LIMB_BITS;
    WL_UNROLL for (uint32_t i = 0; i < n; i++) {
        wl_limb high = i >= skip ? a[i - skip] : 0;
        wl_limb low = i > skip ? a[i - skip - 1] : 0;
        out[i] = bits ? high << bits | low >> (WL_LIMB_BITS - bits) : high;
    }
    out[n - 1] &= top;
}

WL_WIDE_FUNCTION void wl_wide_shr(wl_limb *out, const wl_limb *a, uint32_t n, wl_limb count)
{
    if (count >= WL_LIMB_BITS * n) {
        wl_wide_zero(out, n);
        return;
    }
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = wl_wide_word(a, n, i, count / WL_LIMB_BITS, count % WL_LIMB_BITS);
}

/* Returns two words from bit `lo` on; bits past the end are zero. `lo` is nearly always a
 * constant: then this is one or two shifts. */
WL_INLINE wl_double_limb wl_wide_scalar(const wl_limb *a, uint32_t n, uint32_t lo)
{
    uint32_t skip = lo / WL_LIMB_BITS, bits = lo % WL_LIMB_BITS;
    wl_limb low = wl_wide_word(a, n, 0, skip, bits), high = wl_wide_word(a, n, 1, skip, bits);
    return WL_DOUBLE_LIMB(high, low);
}

/* Extracts bits `lo ..` of a value of `an` words as a value of n words. */
WL_WIDE_FUNCTION void wl_wide_slice(wl_limb *out, uint32_t n, const wl_limb *a, uint32_t an, uint32_t lo,
                                    wl_limb top)
{
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = wl_wide_word(a, an, i, lo / WL_LIMB_BITS, lo % WL_LIMB_BITS);
    out[n - 1] &= top;
}

/* Inserts a part into a value whose bits from `lo` on are still zero. */
WL_WIDE_FUNCTION void wl_wide_place(wl_limb *out, uint32_t n, uint32_t lo, const wl_limb *part, uint32_t pn)
{
    uint32_t skip = lo / WL_LIMB_BITS, bits = lo % WL_LIMB_BITS;
    WL_UNROLL for (uint32_t i = 0; i < pn && skip + i < n; i++) {
        out[skip + i] |= part[i] << bits;
        if (bits && skip + i + 1 < n)
            out[skip + i + 1] |= part[i] >> (WL_LIMB_BITS - bits);
    }
}

WL_WIDE_FUNCTION void wl_wide_place_scalar(wl_limb *out, uint32_t n, uint32_t lo, wl_double_limb part)
{
    wl_limb words[2] = { (wl_limb)part, (wl_limb)(part >> WL_LIMB_BITS) };
    wl_wide_place(out, n, lo, words, 2);
}

/* Schoolbook division, one bit at a time. Division by zero gives all ones and the dividend. */
WL_WIDE_SELDOM void wl_wide_divide(wl_limb *quotient, wl_limb *rest, const wl_limb *a, const wl_limb *b,
                                   uint32_t n, wl_limb top)
{
    bool by_zero = true;
    for (uint32_t i = 0; i < n; i++) {
        by_zero = by_zero && b[i] == 0;
        quotient[i] = 0;
        rest[i] = 0;
    }
    if (by_zero) {
        for (uint32_t i = 0; i < n; i++) {
            quotient[i] = (wl_limb)-1;
            rest[i] = a[i];
        }
        quotient[n - 1] &= top;
        return;
    }
    for (uint32_t bit = WL_LIMB_BITS * n; bit-- > 0;) {
        /* `rest` is below the divisor, so doubling it overflows only if the divisor fills the
         * top word. */
        wl_limb out_of_top = rest[n - 1] >> (WL_LIMB_BITS - 1);
        for (uint32_t i = n; i-- > 0;)
            rest[i] = rest[i] << 1 | (i ? rest[i - 1] >> (WL_LIMB_BITS - 1) : a[bit / WL_LIMB_BITS] >> (bit % WL_LIMB_BITS) & 1);
        bool less = false;
        for (uint32_t i = 0; i < n; i++)
            less = rest[i] != b[i] ? rest[i] < b[i] : less;
        if (out_of_top || !less) {
            wl_limb borrow = 0;
            for (uint32_t i = 0; i < n; i++) {
                wl_double_limb difference = (wl_double_limb)rest[i] - b[i] - borrow;
                rest[i] = (wl_limb)difference;
                borrow = (wl_limb)(difference >> WL_LIMB_BITS) & 1;
            }
            quotient[bit / WL_LIMB_BITS] |= (wl_limb)1 << (bit % WL_LIMB_BITS);
        }
    }
}

#endif
