// Packets: a thread that asks for a packet gets the next one without a thread, and holds it until
// it sends or drops the packet.
#pragma once

#include "wl_platform.h"

// The number of a packet's first bytes that its thread can access.
enum { WL_WINDOW = 128 };

// Waits for a packet; returns the low word of its number among all that arrived.
static inline uint32_t wl_packet_receive(void) {
    uint32_t number = WL_REGISTER(0x00);
    wl_order();
    return number;
}

// Returns the length of the whole packet in bytes.
static inline uint32_t wl_packet_length(void) {
    return *(volatile uint32_t *)(WL_LOCAL + 0x488);
}

// Returns the ingress port.
static inline uint32_t wl_packet_ingress(void) {
    return *(volatile uint32_t *)(WL_LOCAL + 0x48c);
}

// Returns the address of a byte, counted from 0; after the window all bytes are zero. The machine
// stores packets so that words read as their values.
static inline uint8_t *wl_packet_byte(unsigned at) {
    return (uint8_t *)(WL_LOCAL + ((0x102 + at) ^ 3));
}

// Return two and four bytes as numbers.
static inline uint16_t wl_packet_u16(unsigned at) {
    return (uint16_t)(*wl_packet_byte(at) << 8 | *wl_packet_byte(at + 1));
}

static inline uint32_t wl_packet_u32(unsigned at) {
    return (uint32_t)wl_packet_u16(at) << 16 | wl_packet_u16(at + 2);
}

static inline void wl_packet_set_u16(unsigned at, uint16_t value) {
    *wl_packet_byte(at) = (uint8_t)(value >> 8);
    *wl_packet_byte(at + 1) = (uint8_t)value;
}

static inline void wl_packet_end(uint32_t word) {
    wl_order();
    WL_REGISTER(0x14) = word;
    wl_order();
}

// Sends the packet to a port.
static inline void wl_packet_send(uint32_t port) {
    WL_REGISTER(0x04) = port;
    wl_packet_end(0);
}

// Drops the packet for a reason, a number of the program's own below 65,536.
static inline void wl_packet_drop(uint32_t reason) {
    wl_packet_end(1 | reason << 8);
}
