/* The headers that a filter of captures and traces looks at. A filter in the kernel keeps away from
 * the process what it would not take; the process looks at the rest with its own filter
 * (crates/control/src/filter.rs), which reads the whole packet. */
#ifndef WL_FILTER_H
#define WL_FILTER_H

#include "packet.h"

/* What a packet has, of the members of struct wl_headers. */
enum {
    WL_HAS_ETH_SRC = 1 << 0, WL_HAS_ETH_DST = 1 << 1, WL_HAS_ETH_TYPE = 1 << 2, WL_HAS_VLAN_ID = 1 << 3,
    WL_HAS_MPLS_LABEL = 1 << 4, WL_HAS_IP = 1 << 5, WL_HAS_IP_PROTO = 1 << 6, WL_HAS_IP_TTL = 1 << 7,
    WL_HAS_L4_SRC = 1 << 8, WL_HAS_L4_DST = 1 << 9, WL_HAS_PORT = 1 << 10, WL_HAS_LENGTH = 1 << 11
};

struct wl_headers {
    uint64_t has;
    uint64_t eth_src, eth_dst, eth_type, vlan_id, mpls_label, ip_proto, ip_ttl, l4_src, l4_dst, port, length;
    uint64_t version, ip_src[2], ip_dst[2];
};

/* At most so many tags, labels and extension headers are looked through. */
enum { WL_MOST_TAGS = 4, WL_MOST_LABELS = 8, WL_MOST_EXTENSIONS = 6 };

/* Whether the packet has `count` bytes from byte `at` of the window on. */
#define WL_REACHES(count) (at + (count) <= p->window)

/* Reads the headers of a packet. Returns false if some could not be read, because they lie behind the
 * window or because there are too many. */
WL_INLINE bool wl_read_headers(struct wl_packet *p, uint32_t port, struct wl_headers *h)
{
    bool is_whole = p->payload_length == 0;
    uint32_t at = 14, kind;
    h->port = port;
    h->length = wl_length(p);
    h->has = WL_HAS_PORT | WL_HAS_LENGTH;
    if (p->window < 12)
        return is_whole;
    h->eth_dst = wl_get64(p, 0) >> 16;
    h->eth_src = wl_get64(p, 6) >> 16;
    h->has |= WL_HAS_ETH_SRC | WL_HAS_ETH_DST;
    if (p->window < 14)
        return is_whole;
    kind = wl_get16(p, 12);
    h->eth_type = kind;
    h->has |= WL_HAS_ETH_TYPE;
    for (uint32_t tags = 0; kind == 0x8100 || kind == 0x88a8; tags++) {
        if (tags >= WL_MOST_TAGS)
            return false;
        if (!WL_REACHES(2))
            return is_whole;
        if (tags == 0)
            h->vlan_id = wl_get16(p, at) & 0xfff;
        h->has |= WL_HAS_VLAN_ID;
        if (!WL_REACHES(4))
            return is_whole;
        kind = wl_get16(p, at + 2);
        at += 4;
    }
    if (kind == 0x8847 || kind == 0x8848) {
        uint32_t entry = 0;
        for (uint32_t labels = 0; !(entry & 0x100); labels++) {
            if (labels >= WL_MOST_LABELS)
                return false;
            if (!WL_REACHES(4))
                return is_whole;
            entry = wl_get32(p, at);
            if (labels == 0)
                h->mpls_label = entry >> 12;
            h->has |= WL_HAS_MPLS_LABEL;
            at += 4;
        }
        if (!WL_REACHES(1))
            return is_whole;
        uint32_t version = wl_get8(p, at) >> 4;
        kind = version == 4 ? 0x0800 : version == 6 ? 0x86dd : 0;
    }
    if (kind == 0x0800) {
        if (!WL_REACHES(20))
            return false; /* the process says which fields there are */
        h->version = 4;
        h->ip_src[0] = h->ip_dst[0] = 0;
        h->ip_src[1] = wl_get32(p, at + 12);
        h->ip_dst[1] = wl_get32(p, at + 16);
        h->ip_ttl = wl_get8(p, at + 8);
        h->ip_proto = wl_get8(p, at + 9);
        h->has |= WL_HAS_IP | WL_HAS_IP_PROTO | WL_HAS_IP_TTL;
        if (wl_get16(p, at + 6) & 0x1fff)
            return true;
        uint32_t words = wl_get8(p, at) & 15;
        at += (words < 5 ? 5 : words) * 4;
    } else if (kind == 0x86dd) {
        if (!WL_REACHES(40))
            return false;
        h->version = 6;
        h->ip_src[0] = wl_get64(p, at + 8);
        h->ip_src[1] = wl_get64(p, at + 16);
        h->ip_dst[0] = wl_get64(p, at + 24);
        h->ip_dst[1] = wl_get64(p, at + 32);
        h->ip_ttl = wl_get8(p, at + 7);
        uint32_t next = wl_get8(p, at + 6);
        at += 40;
        h->has |= WL_HAS_IP | WL_HAS_IP_TTL;
        /* RFC 8200 section 4 */
        for (uint32_t i = 0; next == 0 || next == 43 || next == 60 || next == 44; i++) {
            if (i >= WL_MOST_EXTENSIONS || !WL_REACHES(8))
                return false;
            if (next == 44) {
                next = wl_get8(p, at);
                if (wl_get16(p, at + 2) & 0xfff8) {
                    h->ip_proto = next;
                    h->has |= WL_HAS_IP_PROTO;
                    return true;
                }
                at += 8;
            } else {
                next = wl_get8(p, at);
                at += (wl_get8(p, at + 1) + 1u) * 8;
            }
        }
        h->ip_proto = next;
        h->has |= WL_HAS_IP_PROTO;
    } else {
        return true;
    }
    uint64_t protocol = h->ip_proto;
    if (protocol == 6 || protocol == 17 || protocol == 33 || protocol == 132 || protocol == 136) {
        if (!WL_REACHES(4))
            return is_whole;
        h->l4_src = wl_get16(p, at);
        h->l4_dst = wl_get16(p, at + 2);
        h->has |= WL_HAS_L4_SRC | WL_HAS_L4_DST;
    }
    return true;
}

/* Whether an address is inside a prefix, whose mask has no other bits. */
#define WL_INSIDE(address, high, low, mask_high, mask_low)                                                             \
    (((address)[0] & (mask_high)) == (high) && ((address)[1] & (mask_low)) == (low))

#endif
