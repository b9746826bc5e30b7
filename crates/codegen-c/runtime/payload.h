/* The `payload` kind: reads and changes of the current packet. Offsets count from the packet's
 * start, through the window. */
#ifndef WL_PAYLOAD_H
#define WL_PAYLOAD_H

#include "packet.h"

/* Reads `count` bytes from byte `offset` on into words, the first byte most significant. */
WL_FUNCTION void wl_payload_read(const struct wl_packet *p, uint32_t offset, uint32_t count, uint64_t *out)
{
    uint8_t bytes[512];
    uint32_t words = (count + 7) / 8;
    memset(bytes, 0, 8);
    uint32_t pad = 8 * words - count;
    wl_payload_copy(p, offset, bytes + pad, count);
    for (uint32_t i = 0; i < words; i++)
        out[i] = wl_be64(bytes + 8 * (words - 1 - i));
}

/* Converts a value in words to its `chunk` bytes, the most significant first. */
WL_FUNCTION void wl_chunk_bytes(const uint64_t *words, uint32_t chunk, uint8_t *bytes)
{
    for (uint32_t i = 0; i < chunk; i++) {
        uint32_t lo = chunk - 1 - i;
        bytes[i] = (uint8_t)(words[lo / 8] >> (8 * (lo % 8)));
    }
}

WL_FUNCTION bool wl_payload_write(struct wl_packet *p, struct wl_arena *arena, uint32_t offset, const uint64_t *data,
                                  uint32_t chunk, uint32_t count)
{
    uint8_t bytes[512];
    if (count > chunk || offset + count > wl_length(p))
        return false;
    wl_chunk_bytes(data, chunk, bytes);
    uint32_t part = offset >= p->window ? 0 : p->window - offset < count ? p->window - offset : count;
    memcpy(wl_front(p) + offset, bytes, part);
    if (part < count) {
        wl_own_payload(p, arena, p->payload_length);
        memcpy((uint8_t *)p->payload + (offset + part - p->window), bytes + part, count - part);
    }
    return true;
}

WL_FUNCTION bool wl_payload_append(struct wl_packet *p, struct wl_arena *arena, const uint64_t *data, uint32_t chunk,
                                   uint32_t count)
{
    uint8_t bytes[512];
    if (count > chunk || wl_length(p) + count > WL_MAX_LENGTH)
        return false;
    if (count == 0)
        return true;
    wl_chunk_bytes(data, chunk, bytes);
    wl_own_payload(p, arena, p->payload_length + count);
    memcpy((uint8_t *)p->payload + p->payload_length, bytes, count);
    p->payload_length += count;
    return true;
}

WL_FUNCTION bool wl_payload_truncate(struct wl_packet *p, uint32_t length)
{
    if (length > wl_length(p))
        return false;
    if (length >= p->window) {
        p->payload_length = length - p->window;
        return true;
    }
    /* The window still ends at WL_END: its bytes move back over those that are removed. */
    uint8_t *front = p->area + WL_END - length;
    memmove(front, p->front, length);
    p->front = front;
    p->window = (uint16_t)length;
    p->payload_length = 0;
    return true;
}

#endif
