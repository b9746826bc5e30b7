/* The message passing engine: packets in and out, calls of objects and their replies. */
#ifndef WL_MESSAGES_H
#define WL_MESSAGES_H

/* The local memory of the thread. */
#define WL_STORE UINT32_C(0x10000000)
/* The message passing engine's registers. */
#define WL_ENGINE UINT32_C(0x20000000)
/* The objects: a store to them launches a call. */
#define WL_OBJECTS UINT32_C(0x80000000)

#define WL_REGISTER(offset) (*(volatile uint32_t *)(WL_ENGINE + (offset)))
/* A load waits for a packet and returns the low word of its number. */
#define WL_RECEIVE WL_REGISTER(0x000)
/* The egress port of the packet, the position of its window, and its length. A load of RECEIVE
 * sets them, so an unchanged packet needs no stores; the reply of an object that may have
 * changed the packet sets them too. */
#define WL_EGRESS WL_REGISTER(0x004)
#define WL_FRONT WL_REGISTER(0x008)
#define WL_END WL_REGISTER(0x00c)
#define WL_LENGTH WL_REGISTER(0x010)
/* A store sends the packet; it contains kind, reason and set of reasons. */
#define WL_SEND WL_REGISTER(0x014)
/* A store selects the bytes that the next SEND takes: the offset, and their number in the upper half.
 * Without it, it takes all bytes. */
#define WL_EXTENT WL_REGISTER(0x02c)
/* A store reports that the packet makes no more calls of the object of this number. */
#define WL_RELEASE WL_REGISTER(0x028)
/* A load waits for the reply of a ticket and returns its first word. */
#define WL_WAIT(ticket) WL_REGISTER(0x100 + 4 * (ticket))

/* The information of a packet besides its bytes. */
struct wl_information {
    uint32_t number, number_high;
    uint32_t length; /* bytes */
    uint32_t ingress;
    uint32_t arrival_ns, arrival_ns_high;
    uint32_t window; /* bytes of the packet that are in the window */
    uint16_t entry;  /* for an engine that is split: the part's entry that got the packet */
    uint16_t egress; /* the port that was set when it was handed over */
    uint32_t begun_ns, begun_ns_high; /* arrival time of the packet for which the thread began */
};

#define WL_INFORMATION ((const struct wl_information *)(WL_STORE + 0x480))
/* All words of a call's arguments except the last, which the call itself carries. */
#define WL_ARGUMENTS ((volatile uint32_t *)(WL_STORE + 0x4b0))
/* The replies, eight words for each ticket. */
#define WL_REPLIES ((const uint32_t *)(WL_STORE + 0x540))
/* The context of a packet that is handed over to another part. It takes the place of replies, of
 * which none is under way then. */
#define WL_CONTEXT ((uint32_t *)(WL_STORE + 0x540))

/* Kinds of SEND. */
enum { WL_FINISH, WL_DROP, WL_TO_CPU, WL_DONE, WL_RUNAWAY, WL_EMIT, WL_FORWARD, WL_COPY_TO_CPU };
#define WL_VERDICT(kind, set, reason) ((kind) | (uint32_t)(reason) << 8 | (uint32_t)(set) << 24)

/* In the address of a call: its only argument is a field of the window, and the word is the
 * address after the last byte of the field. */
#define WL_FIELD UINT32_C(8)

/* Launches a call. Words of earlier replies are read before it: a ticket's reply may arrive at
 * any time from here on. */
WL_INLINE void wl_launch(uint32_t call, uint32_t word)
{
    __asm__ volatile("" ::: "memory");
    *(volatile uint32_t *)(WL_OBJECTS + call) = word;
}

/* Launches a call whose arguments, except the last word, are in their place. */
WL_INLINE void wl_call(uint32_t object, uint32_t method, uint32_t ticket, uint32_t last)
{
    wl_launch(object << 24 | method << 8 | ticket << 4, last);
}

/* Used after a call that takes bytes of the packet: the compiler must not move later writes
 * before it. */
WL_INLINE void wl_taken(void)
{
    __asm__ volatile("" ::: "memory");
}

/* Reports that the packet makes no more calls of an object that must see packets in order of
 * arrival: the next packet may call it. */
WL_INLINE void wl_release(uint32_t object)
{
    WL_RELEASE = object;
}

/* Waits for a reply and returns its first word. All of the reply is then in its place. */
WL_INLINE uint32_t wl_wait(uint32_t ticket)
{
    uint32_t first = WL_WAIT(ticket);
    __asm__ volatile("" ::: "memory");
    return first;
}

#endif
