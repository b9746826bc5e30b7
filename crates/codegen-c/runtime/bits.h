/* Scalar operators of Loom C that C leaves undefined or defines differently. A value of width w
 * is stored in an unsigned type of at least w bits and is always below 2^w: `ones` is 2^w - 1.
 *
 * Processors of 64 bits and of 32 bits share this file: see wide.h. */
#ifndef WL_BITS_H
#define WL_BITS_H

/* Division by zero gives all ones, as in SMT-LIB and RISC-V; the remainder by zero is the
 * dividend. */
#define WL_DIVISION(bits, type)                                                                    \
    WL_INLINE type wl_udiv##bits(type a, type b, type ones) { return b ? a / b : ones; }           \
    WL_INLINE type wl_urem##bits(type a, type b) { return b ? a % b : a; }

/* Shifts by the width or more give zero. The caller masks the result of a left shift. */
#define WL_SHIFTS(bits, type)                                                                      \
    WL_INLINE type wl_shl##bits(type a, wl_limb count, uint32_t width)                             \
    {                                                                                              \
        return count < width ? a << count : 0;                                                     \
    }                                                                                              \
    WL_INLINE type wl_shr##bits(type a, wl_limb count, uint32_t width)                             \
    {                                                                                              \
        return count < width ? a >> count : 0;                                                     \
    }

WL_DIVISION(32, uint32_t)
WL_DIVISION(64, uint64_t)
WL_SHIFTS(64, uint64_t)
#if WL_LIMB_BITS == 64
WL_DIVISION(128, wl_u128)
WL_INLINE wl_u128 wl_not128(wl_u128 a, wl_u128 ones) { return a ^ ones; }
WL_SHIFTS(128, wl_u128)
#else
WL_SHIFTS(32, uint32_t)
#endif

/* Returns a shift count of more than a word, saturated. */
WL_INLINE wl_limb wl_shift_count(wl_double_limb count)
{
    return count >> WL_LIMB_BITS ? (wl_limb)-1 : (wl_limb)count;
}

#undef WL_DIVISION
#undef WL_SHIFTS

#endif
