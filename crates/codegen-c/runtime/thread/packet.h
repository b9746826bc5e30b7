/* The current packet (docs/language.md, "Packets"): its header window in the thread's local
 * memory.
 *
 *     0            front             end                  WL_AREA
 *     | free       | window          | zeros              |
 *
 * The end of the window stays in place unless the packet is truncated: a push or a pop at the
 * front moves the begin. All bytes after it are zero, so that a field outside reads as zero
 * without a test.
 *
 * The area is *word-swizzled*: byte k of the packet's order is at address k ^ 3. Words, and
 * halves of words, are thus read with one load and need no swapping. If the compiler knows an
 * offset modulo 4, it chooses the loads; otherwise, bytes are gathered one by one. */
#ifndef WL_PACKET_H
#define WL_PACKET_H

enum {
    WL_BEGIN = 0x102,      /* position of an arriving packet */
    WL_FAR = 560,          /* an offset past every window: reads there return zero */
    WL_NEAR_FIELD = 40,    /* bytes of the longest field that reads at WL_FAR may have */
    WL_AREA = 1152
};
/* The longest window comes from another part of an engine, and begins where an arriving packet
 * does; all of it may be truncated. */
_Static_assert(WL_BEGIN + WL_LONGEST + (WL_FAR | 3) + WL_NEAR_FIELD <= WL_AREA, "what is read far behind is in the area");

struct wl_packet {
    uint32_t front, end; /* of the window, in the area */
    uint32_t length;     /* of the whole packet, in bytes */
    uint32_t egress;
};

WL_INLINE uint32_t wl_length(const struct wl_packet *p) { return p->length; }
WL_INLINE uint32_t wl_window(const struct wl_packet *p) { return p->end - p->front; }
WL_INLINE uint32_t wl_ingress(const struct wl_packet *p) { (void)p; return WL_INFORMATION->ingress; }


WL_INLINE uint64_t wl_arrival_ns(const struct wl_packet *p)
{
    (void)p;
    return (uint64_t)WL_INFORMATION->arrival_ns_high << 32 | WL_INFORMATION->arrival_ns;
}

/* Returns the arrival time of the packet for which the thread began, whatever its current packet
 * is. It also works in called engines, which have no packet. */
WL_INLINE uint64_t wl_begun_ns(void)
{
    return (uint64_t)WL_INFORMATION->begun_ns_high << 32 | WL_INFORMATION->begun_ns;
}

WL_INLINE void wl_receive(struct wl_packet *p)
{
    (void)WL_RECEIVE;
    __asm__ volatile("" ::: "memory");
    p->front = WL_BEGIN;
    p->end = WL_BEGIN + WL_INFORMATION->window;
    p->length = WL_INFORMATION->length;
    p->egress = 0;
}

/* Receives a packet like wl_receive, for an engine that is split: also one that another part
 * hands over, whose window has the position of an arriving packet's. Returns the entry at which
 * the thread continues. */
WL_INLINE uint32_t wl_receive_part(struct wl_packet *p)
{
    wl_receive(p);
    p->egress = WL_INFORMATION->egress;
    return WL_INFORMATION->entry;
}

/* Reads the position and length of the packet after a call of an object that may have changed
 * it, or put another one in its place. The begin of the packet is unchanged modulo 4. */
WL_INLINE void wl_take_back(struct wl_packet *p)
{
    p->front = (WL_FRONT & ~3u) | (p->front & 3);
    p->end = WL_END;
    p->length = WL_LENGTH;
    p->egress = WL_EGRESS;
}

/* A change of the egress port, of the window's position or of the length is reported to the
 * message passing engine at once. Most packets stay unchanged, and then cost nothing. */
WL_INLINE void wl_set_egress(struct wl_packet *p, uint32_t port)
{
    p->egress = port;
    WL_EGRESS = port;
}

WL_INLINE void wl_set_front(struct wl_packet *p, uint32_t front)
{
    p->front = front;
    WL_FRONT = front;
}

WL_INLINE void wl_set_end(struct wl_packet *p, uint32_t end)
{
    p->end = end;
    WL_END = end;
}

WL_INLINE void wl_set_length(struct wl_packet *p, uint32_t length)
{
    p->length = length;
    WL_LENGTH = length;
}

/* Selects the bytes that the next copy takes. */
WL_INLINE void wl_set_extent(uint32_t offset, uint32_t count)
{
    WL_EXTENT = offset | count << 16;
}

/* Reports the outcome of the packet. */
WL_INLINE void wl_send(uint32_t verdict)
{
    __asm__ volatile("" ::: "memory");
    WL_SEND = verdict;
}

/* Hands the packet over to an entry of another part, with `words` words of the context. */
WL_INLINE void wl_hand_over(uint32_t part, uint32_t entry, uint32_t words)
{
    wl_send(WL_FORWARD | words << 8 | entry << 16 | part << 24);
}

/* ---- Bytes of the area, by their place in the packet's order --------------------------------- */

typedef uint16_t __attribute__((may_alias)) wl_half;
typedef uint32_t __attribute__((may_alias)) wl_word;

/* A place in the area. The address of a field's header is separate from the field's offset,
 * which is a constant, so that one register gives access to all fields of a header. */
struct wl_place {
    uint8_t *header; /* address of the header's first byte, without the swizzle */
    uint32_t offset; /* bytes from the header */
    uint32_t k;      /* the place in the area: `header` + `offset` - WL_STORE */
};

/* Tells whether the compiler knows a place modulo 4. */
#define WL_KNOWN(place) __builtin_constant_p((place).k & 3)

WL_INLINE struct wl_place wl_skip(struct wl_place place, uint32_t count)
{
    return (struct wl_place){ place.header, place.offset + count, place.k + count };
}

WL_INLINE uint8_t *wl_byte_at(struct wl_place place)
{
    uint32_t low = place.k & 3;
    if (WL_KNOWN(place))
        return place.header + place.offset + (low == 0 ? 3 : low == 1 ? 1 : low == 2 ? -1 : -3);
    return (uint8_t *)(WL_STORE + (place.k ^ 3));
}

/* Returns the half word at an even place. */
WL_INLINE wl_half *wl_half_at(struct wl_place place)
{
    return (wl_half *)(place.header + place.offset + ((place.k & 3) == 0 ? 2 : -2));
}

/* Returns the word at a multiple of 4. */
WL_INLINE wl_word *wl_word_at(struct wl_place place) { return (wl_word *)(place.header + place.offset); }

WL_COLD uint32_t wl_gather(uint32_t k, uint32_t n)
{
    uint32_t value = 0;
    for (; n; n--)
        value = value << 8 | *(uint8_t *)(WL_STORE + (k++ ^ 3));
    return value;
}

WL_COLD void wl_scatter(uint32_t k, uint32_t n, uint32_t value)
{
    for (k += n; n; n--, value >>= 8)
        *(uint8_t *)(WL_STORE + (--k ^ 3)) = (uint8_t)value;
}

/* Returns the number in n bytes (constant, 1 to 4). */
WL_INLINE uint32_t wl_load(struct wl_place at, uint32_t n)
{
    uint32_t value = 0;
    if (n == 1)
        return *wl_byte_at(at);
    if (!WL_KNOWN(at))
        return wl_gather(at.k, n);
#define WL_LOAD_PIECE                                                                                                  \
    if (n >= 4 && (at.k & 3) == 0) {                                                                                   \
        value = *wl_word_at(at);                                                                                       \
        n = 0;                                                                                                         \
    } else if (n >= 2 && (at.k & 1) == 0) {                                                                            \
        value = value << 16 | *wl_half_at(at);                                                                         \
        at = wl_skip(at, 2);                                                                                           \
        n -= 2;                                                                                                        \
    } else if (n) {                                                                                                    \
        value = value << 8 | *wl_byte_at(at);                                                                          \
        at = wl_skip(at, 1);                                                                                           \
        n -= 1;                                                                                                        \
    }
    WL_LOAD_PIECE
    WL_LOAD_PIECE
    WL_LOAD_PIECE
#undef WL_LOAD_PIECE
    return value;
}

/* Writes the low n bytes (constant, 1 to 4) of a number. */
WL_INLINE void wl_store(struct wl_place at, uint32_t n, uint32_t value)
{
    if (n == 1) {
        *wl_byte_at(at) = (uint8_t)value;
        return;
    }
    if (!WL_KNOWN(at)) {
        wl_scatter(at.k, n, value);
        return;
    }
#define WL_STORE_PIECE                                                                                                 \
    if (n >= 4 && (at.k & 3) == 0) {                                                                                   \
        *wl_word_at(at) = value;                                                                                       \
        n = 0;                                                                                                         \
    } else if (n >= 2 && (at.k & 1) == 0) {                                                                            \
        *wl_half_at(at) = (uint16_t)(value >> (8 * (n - 2)));                                                          \
        at = wl_skip(at, 2);                                                                                           \
        n -= 2;                                                                                                        \
    } else if (n) {                                                                                                    \
        *wl_byte_at(at) = (uint8_t)(value >> (8 * (n - 1)));                                                           \
        at = wl_skip(at, 1);                                                                                           \
        n -= 1;                                                                                                        \
    }
    WL_STORE_PIECE
    WL_STORE_PIECE
    WL_STORE_PIECE
#undef WL_STORE_PIECE
}

/* ---- Fields of the window -------------------------------------------------------------------- */

/* Returns the place of the byte `offset` (constant) bytes after byte `header` of the window. */
WL_INLINE struct wl_place wl_at(const struct wl_packet *p, uint32_t header, uint32_t offset)
{
    if (offset > WL_NEAR_FIELD) {
        header += offset;
        offset = 0;
    }
    return (struct wl_place){ (uint8_t *)(WL_STORE + p->front + header), offset, p->front + header + offset };
}

/* Returns the place like wl_at, for reading: far past the window it is a place with zeros, the
 * same modulo 4. */
WL_INLINE struct wl_place wl_from(const struct wl_packet *p, uint32_t header, uint32_t offset)
{
    if (offset > WL_NEAR_FIELD) {
        header += offset;
        offset = 0;
    }
    return wl_at(p, header < WL_FAR ? header : WL_FAR | (header & 3), offset);
}

WL_INLINE uint64_t wl_load_long(struct wl_place at, uint32_t n)
{
    return (uint64_t)wl_load(at, n - 4) << 32 | wl_load(wl_skip(at, n - 4), 4);
}

/* Makes a call whose only argument is a field of `bytes` bytes, which the message passing engine
 * fetches. */
WL_INLINE void wl_call_with_field(uint32_t object, uint32_t method, uint32_t ticket, struct wl_place field,
                                  uint32_t bytes)
{
    wl_launch(object << 24 | method << 8 | ticket << 4 | WL_FIELD, (uint32_t)field.header + field.offset + bytes);
    wl_taken();
}

#define WL_GET(bits, type, load)                                                                                       \
    WL_INLINE type wl_get##bits(const struct wl_packet *p, uint32_t header, uint32_t offset)                           \
    {                                                                                                                  \
        return load(wl_from(p, header, offset), bits / 8);                                                             \
    }
WL_GET(8, uint32_t, wl_load)
WL_GET(16, uint32_t, wl_load)
WL_GET(24, uint32_t, wl_load)
WL_GET(32, uint32_t, wl_load)
WL_GET(40, uint64_t, wl_load_long)
WL_GET(48, uint64_t, wl_load_long)
WL_GET(56, uint64_t, wl_load_long)
WL_GET(64, uint64_t, wl_load_long)
#undef WL_GET

/* Reads a field as n words, byte by byte; `end` bytes are valid. */
WL_COLD void wl_get_far(uint32_t front, uint32_t end, uint32_t at, uint32_t bit, uint32_t width, uint32_t *out, uint32_t n)
{
    uint32_t count = (bit + width + 7) / 8, shift = 8 * count - bit - width;
    for (uint32_t i = 0; i < n; i++)
        out[i] = 0;
    for (uint32_t i = 0; i < count && front + at + i < end; i++) {
        uint32_t byte = *(uint8_t *)(WL_STORE + ((front + at + i) ^ 3));
        if (i == 0)
            byte &= 0xffu >> bit;
        /* The position of the byte's least significant bit; below zero for the last byte of an
         * unaligned field. */
        int32_t lo = (int32_t)(8 * (count - 1 - i)) - (int32_t)shift;
        if (lo < 0) {
            out[0] |= byte >> -lo;
            continue;
        }
        out[lo / 32] |= byte << (lo % 32);
        if (lo % 32 > 24 && (uint32_t)lo / 32 + 1 < n)
            out[lo / 32 + 1] |= byte >> (32 - lo % 32);
    }
}

/* Reads `width` bits that begin `bit` bits (0 to 7) into a byte, as n words. */
WL_INLINE void wl_get_wide(const struct wl_packet *p, uint32_t header, uint32_t offset, uint32_t bit, uint32_t width,
                           uint32_t *out, uint32_t n)
{
    uint32_t count = (bit + width + 7) / 8, shift = 8 * count - bit - width;
    if (count > WL_NEAR_FIELD) {
        uint32_t at = header + offset;
        wl_get_far(p->front, p->end, at < WL_FAR ? at : WL_FAR, bit, width, out, n);
        return;
    }
    struct wl_place from = wl_from(p, header, offset);
    uint32_t raw[WL_NEAR_FIELD / 4 + 1];
    WL_UNROLL for (uint32_t i = 0; i <= n; i++) {
        uint32_t behind = 4 * i < count ? count - 4 * i : 0;
        raw[i] = behind >= 4 ? wl_load(wl_skip(from, behind - 4), 4) : behind ? wl_load(from, behind) : 0;
    }
    WL_UNROLL for (uint32_t i = 0; i < n; i++)
        out[i] = shift ? raw[i] >> shift | raw[i + 1] << (32 - shift) : raw[i];
    out[n - 1] &= UINT32_MAX >> (31 - (width - 1) % 32);
}

/* Reads a field of at most 64 bits that spans 9 bytes. */
WL_INLINE uint64_t wl_get_bits64(const struct wl_packet *p, uint32_t header, uint32_t offset, uint32_t bit, uint32_t width)
{
    uint32_t words[2];
    wl_get_wide(p, header, offset, bit, width, words, 2);
    return (uint64_t)words[1] << 32 | words[0];
}

/* Writes n bytes (constant, 1 to 8), and keeps the bits of `keep`; writes nothing unless all
 * bytes are inside. */
WL_INLINE void wl_put(const struct wl_packet *p, uint32_t header, uint32_t offset, uint32_t n, uint64_t value,
                      uint64_t keep)
{
    if (WL_UNLIKELY(header + offset + n > wl_window(p)))
        return;
    struct wl_place to = wl_at(p, header, offset);
    if (n > 4) {
        uint32_t high = (uint32_t)(value >> 32), low = (uint32_t)value;
        struct wl_place behind = wl_skip(to, n - 4);
        if (keep >> 32)
            high |= wl_load(to, n - 4) & (uint32_t)(keep >> 32);
        if ((uint32_t)keep)
            low |= wl_load(behind, 4) & (uint32_t)keep;
        wl_store(to, n - 4, high);
        wl_store(behind, 4, low);
        return;
    }
    if (keep)
        value |= wl_load(to, n) & (uint32_t)keep;
    wl_store(to, n, (uint32_t)value);
}

/* Writes any field, of words, at a place, byte by byte. */
WL_COLD void wl_put_bits(uint32_t k, uint32_t bit, uint32_t width, const uint32_t *value, uint32_t n)
{
    uint32_t count = (bit + width + 7) / 8, shift = 8 * count - bit - width;
    for (uint32_t i = 0; i < count; i++) {
        int32_t lo = (int32_t)(8 * (count - 1 - i)) - (int32_t)shift;
        uint32_t byte, mask = 0xff;
        if (lo < 0) {
            byte = value[0] << -lo;
            mask &= 0xffu << -lo;
        } else {
            uint32_t word = (uint32_t)lo / 32, at_bit = (uint32_t)lo % 32;
            byte = value[word] >> at_bit;
            if (at_bit > 24 && word + 1 < n)
                byte |= value[word + 1] << (32 - at_bit);
        }
        if (i == 0)
            mask &= 0xffu >> bit;
        uint8_t *to = (uint8_t *)(WL_STORE + ((k + i) ^ 3));
        *to = (uint8_t)((*to & ~mask) | (byte & mask));
    }
}

/* Writes any field, of n words; writes nothing unless all of it is inside. */
WL_INLINE void wl_put_wide(const struct wl_packet *p, uint32_t header, uint32_t offset, uint32_t bit, uint32_t width,
                           const uint32_t *value, uint32_t n)
{
    uint32_t count = (bit + width + 7) / 8;
    if (WL_UNLIKELY(header + offset + count > wl_window(p)))
        return;
    struct wl_place to = wl_at(p, header, offset);
    if (bit || width % 8 || count > WL_NEAR_FIELD) {
        wl_put_bits(to.k, bit, width, value, n);
        return;
    }
    WL_UNROLL for (uint32_t i = 0; i < n; i++) {
        uint32_t behind = count - 4 * i;
        if (behind >= 4)
            wl_store(wl_skip(to, behind - 4), 4, value[i]);
        else
            wl_store(to, behind, value[i]);
    }
}

WL_INLINE void wl_put_bits64(const struct wl_packet *p, uint32_t header, uint32_t offset, uint32_t bit, uint32_t width,
                             uint64_t value)
{
    const uint32_t words[2] = { (uint32_t)value, (uint32_t)(value >> 32) };
    wl_put_wide(p, header, offset, bit, width, words, 2);
}

/* ---- Size of the packet ---------------------------------------------------------------------- */

WL_COLD void wl_clear(uint32_t k, uint32_t count)
{
    for (; count; count--)
        *(uint8_t *)(WL_STORE + (k++ ^ 3)) = 0;
}

/* Moves bytes; they may overlap. */
WL_COLD void wl_move(uint32_t to, uint32_t from, uint32_t count)
{
    uint32_t step = to > from ? UINT32_MAX : 1;
    if (to > from) {
        to += count - 1;
        from += count - 1;
    }
    for (; count; count--, to += step, from += step)
        *(uint8_t *)(WL_STORE + (to ^ 3)) = *(uint8_t *)(WL_STORE + (from ^ 3));
}

WL_INLINE bool wl_insert(struct wl_packet *p, uint32_t offset, uint32_t count)
{
    uint32_t window = wl_window(p);
    if (offset > window || window + count > WL_LONGEST || p->length + count > WL_MAX_LENGTH)
        return false;
    uint32_t front = p->front;
    wl_set_front(p, front - count);
    wl_set_length(p, p->length + count);
    if (offset)
        wl_move(front - count, front, offset);
    wl_clear(front - count + offset, count);
    return true;
}

WL_INLINE bool wl_remove(struct wl_packet *p, uint32_t offset, uint32_t count)
{
    if (offset + count > wl_window(p))
        return false;
    if (offset)
        wl_move(p->front + count, p->front, offset);
    wl_set_front(p, p->front + count);
    wl_set_length(p, p->length - count);
    return true;
}

WL_INLINE bool wl_reset(struct wl_packet *p, uint32_t count)
{
    if (count > WL_LONGEST)
        return false;
    wl_set_front(p, p->end - count);
    wl_set_length(p, count);
    wl_clear(p->front, count);
    return true;
}

/* Truncates the packet, and clears the bytes after the new end of the window. A window that had
 * grown and is truncated moves back if it needs room in front to reach the longest size again;
 * its position modulo 4 is unchanged. */
WL_INLINE bool wl_truncate(struct wl_packet *p, uint32_t length)
{
    if (length > p->length)
        return false;
    wl_set_length(p, length);
    if (length < wl_window(p)) {
        uint32_t end = p->front + length;
        wl_clear(end, p->end - end);
        if (WL_UNLIKELY(end < WL_LONGEST)) {
            uint32_t back = (WL_LONGEST - end + 3) & ~3u;
            wl_move(p->front + back, p->front, length);
            wl_set_front(p, p->front + back);
            end += back;
        }
        wl_set_end(p, end);
    }
    return true;
}

#endif
