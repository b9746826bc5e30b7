/* Sixteen packets at a time, one in each lane of a vector: what most packets of a program do, as far as
 * that needs no branch. A value of up to 32 bits is a wl_v, one of up to 64 bits a wl_q, a condition a
 * wl_m, which has a bit for each lane. Processors without AVX-512 execute all packets in threads. */
#ifndef WL_LANES_H
#define WL_LANES_H

#include "batch.h"
#include "lpm.h"

enum { WL_LANES = 16, WL_GROUPS = WL_BATCH / WL_LANES };

/* Which way of an engine the lanes follow. */
struct wl_lanes {
    uint32_t way;   /* the one that packets followed last */
    uint32_t tried; /* how many ways few packets followed, in a row */
    uint32_t rest;  /* batches that are left to threads */
    uint32_t pause; /* how many batches they are left to next time */
};

enum { WL_SHORT_PAUSE = 16, WL_LONG_PAUSE = 4096 };

/* Notes how many packets of a batch followed their way. After a batch in which less than three in four
 * did, the next one tries another way; if none is any good, threads execute the next batches. The work on
 * packets that leave is in vain, and few threads have nobody to wait for: about that many must follow for
 * a gain. */
WL_INLINE void wl_lanes_note(struct wl_lanes *lanes, uint32_t ways, uint32_t followed, uint32_t count)
{
    if (WL_LIKELY(4 * followed >= 3 * count)) {
        lanes->tried = 0;
        lanes->pause = WL_SHORT_PAUSE;
        return;
    }
    lanes->way = lanes->way + 1 < ways ? lanes->way + 1 : 0;
    if (++lanes->tried < ways)
        return;
    lanes->tried = 0;
    lanes->rest = lanes->pause;
    lanes->pause = lanes->pause < WL_LONG_PAUSE ? 2 * lanes->pause + WL_SHORT_PAUSE : (uint32_t)WL_LONG_PAUSE;
}

/* Leaves a batch to threads. */
WL_INLINE void wl_lanes_rest(struct wl_lanes *lanes) { lanes->rest--; }

/* Leaves packets to threads: writes their numbers, from `first` to below `end`, and returns how many
 * there are. */
WL_INLINE uint32_t wl_lanes_leave(uint8_t *left, uint32_t count, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        left[count++] = (uint8_t)i;
    return count;
}

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define WL_HAVE_LANES

#include <immintrin.h>

typedef uint32_t wl_v __attribute__((vector_size(64)));
typedef uint64_t wl_h __attribute__((vector_size(64)));
typedef __mmask16 wl_m;
typedef struct {
    wl_h lo, hi; /* lanes 0 to 7, and 8 to 15 */
} wl_q;

/* ---- Conditions ------------------------------------------------------------------------------ */

WL_INLINE wl_m wl_m_and(wl_m a, wl_m b) { return _kand_mask16(a, b); }
WL_INLINE wl_m wl_m_or(wl_m a, wl_m b) { return _kor_mask16(a, b); }
WL_INLINE wl_m wl_m_xor(wl_m a, wl_m b) { return _kxor_mask16(a, b); }
WL_INLINE wl_m wl_m_but(wl_m a, wl_m b) { return _kandn_mask16(b, a); }
WL_INLINE wl_m wl_m_not(wl_m a) { return _knot_mask16(a); }
WL_INLINE wl_m wl_m_select(wl_m c, wl_m a, wl_m b) { return _kor_mask16(_kand_mask16(c, a), _kandn_mask16(c, b)); }

/* ---- Values of up to 32 bits: other operations are operators --------------------------------- */

WL_INLINE wl_v wl_v_set(uint32_t x) { return (wl_v)_mm512_set1_epi32((int)x); }
WL_INLINE wl_m wl_v_eq(wl_v a, wl_v b) { return _mm512_cmpeq_epu32_mask((__m512i)a, (__m512i)b); }
WL_INLINE wl_m wl_v_ne(wl_v a, wl_v b) { return _mm512_cmpneq_epu32_mask((__m512i)a, (__m512i)b); }
WL_INLINE wl_m wl_v_less(wl_v a, wl_v b) { return _mm512_cmplt_epu32_mask((__m512i)a, (__m512i)b); }
WL_INLINE wl_m wl_v_less_equal(wl_v a, wl_v b) { return _mm512_cmple_epu32_mask((__m512i)a, (__m512i)b); }
WL_INLINE wl_m wl_v_test(wl_v a, uint32_t bits)
{
    return _mm512_test_epi32_mask((__m512i)a, (__m512i)wl_v_set(bits));
}
WL_INLINE wl_v wl_v_select(wl_m c, wl_v a, wl_v b)
{
    return (wl_v)_mm512_mask_blend_epi32(c, (__m512i)b, (__m512i)a);
}
WL_INLINE wl_v wl_v_where(wl_m c, wl_v a) { return (wl_v)_mm512_maskz_mov_epi32(c, (__m512i)a); }
WL_INLINE wl_v wl_v_of_m(wl_m c) { return (wl_v)_mm512_maskz_set1_epi32(c, 1); }
WL_INLINE wl_v wl_v_least(wl_v a, wl_v b) { return (wl_v)_mm512_min_epu32((__m512i)a, (__m512i)b); }
/* Shifts by counts that differ; a count of 32 or more gives zero. */
WL_INLINE wl_v wl_v_shl(wl_v a, wl_v n) { return (wl_v)_mm512_sllv_epi32((__m512i)a, (__m512i)n); }
WL_INLINE wl_v wl_v_shr(wl_v a, wl_v n) { return (wl_v)_mm512_srlv_epi32((__m512i)a, (__m512i)n); }
/* From network order, and back. */
WL_INLINE wl_v wl_v_swap(wl_v a)
{
    return (wl_v)_mm512_shuffle_epi8((__m512i)a, _mm512_set4_epi32(0x0c0d0e0f, 0x08090a0b, 0x04050607, 0x00010203));
}

/* ---- Values of up to 64 bits ----------------------------------------------------------------- */

WL_INLINE wl_q wl_q_of(wl_h lo, wl_h hi) { return (wl_q){ lo, hi }; }
WL_INLINE wl_h wl_h_set(uint64_t x) { return (wl_h)_mm512_set1_epi64((long long)x); }
WL_INLINE wl_q wl_q_set(uint64_t x) { return wl_q_of(wl_h_set(x), wl_h_set(x)); }
WL_INLINE wl_m wl_m_of(__mmask8 lo, __mmask8 hi) { return (wl_m)(lo | (uint32_t)hi << 8); }
WL_INLINE __mmask8 wl_m_low(wl_m m) { return (__mmask8)m; }
WL_INLINE __mmask8 wl_m_high(wl_m m) { return (__mmask8)(m >> 8); }

#define WL_Q_OPERATOR(name, operator)                                                            \
    WL_INLINE wl_q wl_q_##name(wl_q a, wl_q b)                                                   \
    {                                                                                            \
        return wl_q_of(a.lo operator b.lo, a.hi operator b.hi);                                  \
    }
WL_Q_OPERATOR(add, +)
WL_Q_OPERATOR(sub, -)
WL_Q_OPERATOR(mul, *)
WL_Q_OPERATOR(and, &)
WL_Q_OPERATOR(or, |)
WL_Q_OPERATOR(xor, ^)

#define WL_Q_COMPARISON(name, comparison)                                                        \
    WL_INLINE wl_m wl_q_##name(wl_q a, wl_q b)                                                   \
    {                                                                                            \
        return wl_m_of(_mm512_##comparison##_epu64_mask((__m512i)a.lo, (__m512i)b.lo),           \
                       _mm512_##comparison##_epu64_mask((__m512i)a.hi, (__m512i)b.hi));          \
    }
WL_Q_COMPARISON(eq, cmpeq)
WL_Q_COMPARISON(ne, cmpneq)
WL_Q_COMPARISON(less, cmplt)
WL_Q_COMPARISON(less_equal, cmple)

/* Shifts by a constant below 64. */
WL_INLINE wl_q wl_q_shl(wl_q a, uint32_t n) { return wl_q_of(a.lo << n, a.hi << n); }
WL_INLINE wl_q wl_q_shr(wl_q a, uint32_t n) { return wl_q_of(a.lo >> n, a.hi >> n); }
WL_INLINE wl_m wl_q_test(wl_q a, uint64_t bits)
{
    const __m512i all = (__m512i)wl_h_set(bits);
    return wl_m_of(_mm512_test_epi64_mask((__m512i)a.lo, all), _mm512_test_epi64_mask((__m512i)a.hi, all));
}
WL_INLINE wl_q wl_q_select(wl_m c, wl_q a, wl_q b)
{
    return wl_q_of((wl_h)_mm512_mask_blend_epi64(wl_m_low(c), (__m512i)b.lo, (__m512i)a.lo),
                   (wl_h)_mm512_mask_blend_epi64(wl_m_high(c), (__m512i)b.hi, (__m512i)a.hi));
}
WL_INLINE wl_q wl_q_where(wl_m c, wl_q a)
{
    return wl_q_of((wl_h)_mm512_maskz_mov_epi64(wl_m_low(c), (__m512i)a.lo),
                   (wl_h)_mm512_maskz_mov_epi64(wl_m_high(c), (__m512i)a.hi));
}
WL_INLINE wl_q wl_q_of_v(wl_v a)
{
    return wl_q_of((wl_h)_mm512_cvtepu32_epi64(_mm512_castsi512_si256((__m512i)a)),
                   (wl_h)_mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64((__m512i)a, 1)));
}
WL_INLINE wl_v wl_v_of_halves(__m256i lo, __m256i hi)
{
    return (wl_v)_mm512_inserti64x4(_mm512_castsi256_si512(lo), hi, 1);
}
/* The low 32 bits, and those above them. */
WL_INLINE wl_v wl_v_of_q(wl_q a)
{
    const wl_v even = { 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30 };
    return (wl_v)_mm512_permutex2var_epi32((__m512i)a.lo, (__m512i)even, (__m512i)a.hi);
}
WL_INLINE wl_v wl_v_above_q(wl_q a)
{
    const wl_v odd = { 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31 };
    return (wl_v)_mm512_permutex2var_epi32((__m512i)a.lo, (__m512i)odd, (__m512i)a.hi);
}
WL_INLINE wl_q wl_q_swap(wl_q a)
{
    const __m512i order = _mm512_set4_epi32(0x08090a0b, 0x0c0d0e0f, 0x00010203, 0x04050607);
    return wl_q_of((wl_h)_mm512_shuffle_epi8((__m512i)a.lo, order), (wl_h)_mm512_shuffle_epi8((__m512i)a.hi, order));
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Each lane of the mask loads 32 bits, or 64, from its own address plus `at` bytes. The others are zero. */
WL_INLINE wl_v wl_v_load(wl_q address, const uint32_t at, wl_m where)
{
    const void *const base = (const void *)(uintptr_t)at;
    const __m256i none = _mm256_setzero_si256();
    return wl_v_of_halves(_mm512_mask_i64gather_epi32(none, wl_m_low(where), (__m512i)address.lo, base, 1),
                          _mm512_mask_i64gather_epi32(none, wl_m_high(where), (__m512i)address.hi, base, 1));
}
WL_INLINE wl_q wl_q_load(wl_q address, const uint32_t at, wl_m where)
{
    const void *const base = (const void *)(uintptr_t)at;
    const __m512i none = _mm512_setzero_si512();
    return wl_q_of((wl_h)_mm512_mask_i64gather_epi64(none, wl_m_low(where), (__m512i)address.lo, base, 1),
                   (wl_h)_mm512_mask_i64gather_epi64(none, wl_m_high(where), (__m512i)address.hi, base, 1));
}
WL_INLINE void wl_v_store(uint32_t *to, wl_v a) { _mm512_storeu_si512(to, (__m512i)a); }
WL_INLINE void wl_q_store(uint64_t *to, wl_q a)
{
    _mm512_storeu_si512(to, (__m512i)a.lo);
    _mm512_storeu_si512(to + 8, (__m512i)a.hi);
}
/* Fetches elements of `size` bytes. The indices go through memory: to take them out of the vector would
 * keep the units busy that compute with vectors. */
WL_INLINE void wl_v_prefetch(const void *first, wl_v index, uint32_t size)
{
    uint32_t at[WL_LANES];
    wl_v_store(at, index);
    __asm__("" : "+m"(at));
#pragma GCC unroll 16
    for (uint32_t i = 0; i < WL_LANES; i++)
        WL_PREFETCH((const void *)((uintptr_t)first + (uintptr_t)at[i] * size));
}

/* Loads a word of 64 bits, or its lower half, of elements of `words` words: word number `word`. An index
 * times the number of words is below 2^31. */
WL_INLINE wl_q wl_q_element(const uint64_t *first, wl_v index, uint32_t words, uint32_t word, wl_m where)
{
    const __m512i at = (__m512i)(index * words), none = _mm512_setzero_si512();
    const __m256i lo = _mm512_castsi512_si256(at), hi = _mm512_extracti64x4_epi64(at, 1);
    return wl_q_of((wl_h)_mm512_mask_i32gather_epi64(none, wl_m_low(where), lo, first + word, 8),
                   (wl_h)_mm512_mask_i32gather_epi64(none, wl_m_high(where), hi, first + word, 8));
}
WL_INLINE wl_v wl_v_element(const uint64_t *first, wl_v index, uint32_t words, wl_m where)
{
    return (wl_v)_mm512_mask_i32gather_epi32(_mm512_setzero_si512(), where, (__m512i)(index * words), first, 8);
}

/* ---- Packets --------------------------------------------------------------------------------- */

/* What each packet is when it arrives. */
struct wl_lanes_arrival {
    wl_q address;
    wl_v length, ingress;
};

WL_INLINE struct wl_lanes_arrival wl_lanes_arrive(const struct wl_arrival *packets)
{
    const wl_h at = { 0, 1, 2, 3, 4, 5, 6, 7 };
    const wl_h lo = at * sizeof *packets + (uintptr_t)packets, hi = lo + 8 * sizeof *packets;
    const wl_q whole = wl_q_of(lo, hi);
    return (struct wl_lanes_arrival){
        .address = wl_q_load(whole, offsetof(struct wl_arrival, bytes), 0xffff),
        .length = wl_v_least(wl_v_load(whole, offsetof(struct wl_arrival, length), 0xffff),
                             wl_v_set(WL_MAX_LENGTH)),
        .ingress = wl_v_load(whole, offsetof(struct wl_arrival, ingress), 0xffff) & 0xffff,
    };
}

/* Leaves the packets to threads that are not on their way: `first` and the following. */
WL_INLINE uint32_t wl_lanes_left(uint8_t *left, uint32_t count, wl_m alive, uint32_t first)
{
    for (uint32_t gone = (uint16_t)~alive; gone; gone &= gone - 1)
        left[count++] = (uint8_t)(first + (uint32_t)__builtin_ctz(gone));
    return count;
}

/* Fetches the packets from `first` on that the lanes will read next: of each the first 64 bytes. What
 * describes packets is fetched still earlier. */
WL_INLINE void wl_lanes_fetch(const struct wl_arrival *packets, uint32_t first, uint32_t known)
{
    const uint32_t end = known < first + WL_LANES ? known : first + WL_LANES;
    for (uint32_t i = first; i < end; i++) {
        WL_PREFETCH(packets[i].bytes);
        WL_PREFETCH(packets[i].bytes + 63);
    }
    for (uint32_t i = first; i < end; i += 64 / sizeof *packets)
        WL_PREFETCH(packets + i + WL_BATCH);
}

/* Copies a window, which has at most WL_WINDOW bytes, to its place in a thread. */
WL_INLINE uint8_t *wl_lanes_copy(struct wl_packet *p, const struct wl_arrival *in, uint32_t window)
{
    uint8_t *const to = p->area + WL_END - window;
    wl_poison(p);
    wl_copy_window(to, in->bytes, window);
    return to;
}

/* Makes up to WL_LANES_MOVE bytes in front of a window zero, which has at most WL_LANES_LARGEST. */
enum { WL_LANES_MOVE = 16, WL_LANES_LARGEST = WL_END - WL_LANES_MOVE };

WL_INLINE void wl_lanes_room(uint8_t *to) { memset(to - WL_LANES_MOVE, 0, WL_LANES_MOVE); }

/* Writes bytes that the window has; see wl_put. */
WL_INLINE void wl_lanes_put(uint8_t *to, uint32_t at, uint32_t n, uint64_t value, uint64_t keep)
{
    wl_put((struct wl_window){ to, UINT32_MAX }, at, n, value, keep);
}

WL_INLINE void wl_lanes_put128(uint8_t *to, uint32_t at, uint32_t n, wl_u128 value, wl_u128 keep)
{
    wl_put128((struct wl_window){ to, UINT32_MAX }, at, n, value, keep);
}

/* Sends the packet of a thread whose window lies at `to`, and whose payload is where it arrived, after
 * `cut` bytes. */
WL_INLINE void wl_lanes_sent(struct wl_end *end, const struct wl_packet *p, const struct wl_arrival *in,
                             uint32_t cut, uint8_t *to, uint32_t window, uint32_t length, uint16_t port)
{
    struct wl_output *const out = &end->last;
    out->window = to;
    out->payload = in->bytes + cut;
    out->window_length = window;
    out->payload_length = length - window;
    out->reasons = 0;
    out->value = port;
    out->verdict = wl_is_intact(p) ? WL_SENT : WL_RUNAWAY;
    end->first_emitted = WL_NO_OUTPUT;
}

/* ---- Elements -------------------------------------------------------------------------------- */

WL_INLINE void wl_lanes_element_fetch(const struct wl_slot *slot, wl_v index, uint32_t words)
{
    wl_v_prefetch(slot->data, index, 8 * words);
}

/* Whether the lanes can read elements of so many words. */
WL_INLINE bool wl_lanes_can_read(const struct wl_slot *slot, uint32_t words)
{
    return slot->elements <= INT32_MAX / words;
}

/* The lanes whose index is that of an element. */
WL_INLINE wl_m wl_lanes_inside(const struct wl_slot *slot, wl_v index)
{
    return wl_v_less(index, wl_v_set((uint32_t)slot->elements));
}

/* ---- Prefix tables of blocks ----------------------------------------------------------------- */

/* Searches whose next entry is fetched: `place` is its index among the entries of all blocks, in the
 * lanes of `inside`; other searches have ended, with the number of their value in `entry`. */
struct wl_lanes_walk {
    wl_v entry, place;
    wl_m inside;
};

WL_INLINE bool wl_lanes_can_search(const struct wl_slot *slot) { return slot->spread != NULL; }

WL_INLINE void wl_lanes_lpm_fetch(const struct wl_slot *slot, wl_v chunk)
{
    wl_v_prefetch(slot->spread, chunk, sizeof *slot->spread);
}

/* Goes to the entries that `entry` names, which are `1 << size` bytes long. */
WL_INLINE struct wl_lanes_walk wl_lanes_lpm_enter(const struct wl_slot *slot, wl_v entry, wl_m inside, wl_v chunk,
                                                  uint32_t size, bool fetches)
{
    const wl_v place = wl_v_where(inside, ((entry & ~WL_LPM_BLOCK) << WL_LPM_STRIDE) | chunk);
    if (fetches)
        wl_v_prefetch(slot->blocks, place, 1u << size);
    return (struct wl_lanes_walk){ entry, place, inside };
}

WL_INLINE struct wl_lanes_walk wl_lanes_lpm_begin(const struct wl_slot *slot, wl_v direct, wl_v chunk, uint32_t size)
{
    const wl_v entry = (wl_v)_mm512_i32gather_epi32((__m512i)direct, slot->spread, 4);
    return wl_lanes_lpm_enter(slot, entry, wl_v_test(entry, WL_LPM_BLOCK), chunk, size, true);
}

/* Reads the entries of walks in blocks of long entries. */
WL_INLINE wl_v wl_lanes_lpm_entry(const struct wl_slot *slot, struct wl_lanes_walk walk)
{
    return (wl_v)_mm512_mask_i32gather_epi32((__m512i)walk.entry, walk.inside, (__m512i)walk.place, slot->blocks, 4);
}

WL_INLINE struct wl_lanes_walk wl_lanes_lpm_walk(const struct wl_slot *slot, struct wl_lanes_walk walk, wl_v chunk)
{
    const wl_v entry = wl_lanes_lpm_entry(slot, walk);
    const wl_m inside = wl_m_and(walk.inside, wl_v_test(entry, WL_LPM_BLOCK));
    if (!inside)
        return (struct wl_lanes_walk){ entry, wl_v_set(0), 0 };
    return wl_lanes_lpm_enter(slot, entry, inside, chunk, 2, true);
}

/* The numbers of values in tables with long entries. Searches that are not at their end go on without a
 * wait, with the bits from number `at` (below 64) on of a key that is aligned to the upper end of two
 * words. */
WL_INLINE wl_v wl_lanes_lpm_number(const struct wl_slot *slot, struct wl_lanes_walk walk, wl_q high, wl_q low,
                                   uint32_t at)
{
    wl_v entry = wl_lanes_lpm_entry(slot, walk);
    wl_m inside = wl_m_and(walk.inside, wl_v_test(entry, WL_LPM_BLOCK));
    if (!inside)
        return entry;
    high = wl_q_or(wl_q_shl(high, at), wl_q_shr(low, 64 - at));
    low = wl_q_shl(low, at);
    do {
        const wl_v chunk = wl_v_of_q(wl_q_shr(high, 64 - WL_LPM_STRIDE));
        high = wl_q_or(wl_q_shl(high, WL_LPM_STRIDE), wl_q_shr(low, 64 - WL_LPM_STRIDE));
        low = wl_q_shl(low, WL_LPM_STRIDE);
        entry = wl_lanes_lpm_entry(slot, wl_lanes_lpm_enter(slot, entry, inside, chunk, 2, false));
        inside = wl_m_and(inside, wl_v_test(entry, WL_LPM_BLOCK));
    } while (inside);
    return entry;
}

/* The same with short entries. They are read in pairs, since there is no gather of 16 bits; a block has an
 * even number of them. */
WL_INLINE wl_v wl_lanes_lpm_short_entry(const struct wl_slot *slot, struct wl_lanes_walk walk)
{
    const wl_v pair = (wl_v)_mm512_mask_i32gather_epi32(_mm512_setzero_si512(), walk.inside,
                                                        (__m512i)(walk.place >> 1), slot->blocks, 4);
    const wl_v entry = wl_v_shr(pair, (walk.place & 1) << 4) & 0xffff;
    return wl_v_select(walk.inside, entry, walk.entry);
}

/* Few searches need a second block. */
WL_INLINE struct wl_lanes_walk wl_lanes_lpm_short_walk(const struct wl_slot *slot, struct wl_lanes_walk walk,
                                                       wl_v chunk)
{
    const wl_v entry = wl_lanes_lpm_short_entry(slot, walk);
    const wl_m inside = wl_m_and(walk.inside, wl_v_test(entry, WL_LPM_DEEPER));
    const wl_v place = wl_v_where(inside, ((entry & (WL_LPM_DEEPER - 1)) << WL_LPM_STRIDE) | chunk);
    if (inside)
        wl_v_prefetch(slot->blocks, place, 2);
    return (struct wl_lanes_walk){ entry, place, inside };
}

WL_INLINE wl_v wl_lanes_lpm_short_number(const struct wl_slot *slot, struct wl_lanes_walk walk, wl_m *alive)
{
    const wl_v entry = wl_lanes_lpm_short_entry(slot, walk);
    *alive = wl_m_and(*alive, wl_m_not(wl_m_and(walk.inside, wl_v_test(entry, WL_LPM_DEEPER))));
    return entry & (WL_LPM_DEEPER - 1);
}

#endif
#endif
