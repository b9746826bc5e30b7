/* The message passing engine: packets in and out, calls of objects and their replies. */
#ifndef WL_MESSAGES_H
#define WL_MESSAGES_H

/* The local store of the thread. */
#define WL_STORE UINT32_C(0x10000000)
/* The message passing engine's registers. */
#define WL_ENGINE UINT32_C(0x20000000)
/* The objects: a store launches a call. */
#define WL_OBJECTS UINT32_C(0x80000000)

#define WL_REGISTER(offset) (*(volatile uint32_t *)(WL_ENGINE + (offset)))
/* A load waits for a packet and answers the low word of its number. */
#define WL_RECEIVE WL_REGISTER(0x000)
/* Where the packet goes, where it lies, how long it is; RECEIVE sets them for a packet that stays as it is, and so does the
 * reply of an object that may have changed it. */
#define WL_EGRESS WL_REGISTER(0x004)
#define WL_FRONT WL_REGISTER(0x008)
#define WL_END WL_REGISTER(0x00c)
#define WL_LENGTH WL_REGISTER(0x010)
/* A store sends the packet: kind, reason and set of reasons. */
#define WL_SEND WL_REGISTER(0x014)
/* A store says that the packet makes no more calls of the object of this number. */
#define WL_RELEASE WL_REGISTER(0x028)
/* A load waits for the reply of a ticket and answers its first word. */
#define WL_WAIT(ticket) WL_REGISTER(0x100 + 4 * (ticket))

/* What a packet brings besides its bytes. */
struct wl_information {
    uint32_t number, number_high;
    uint32_t length; /* bytes */
    uint32_t ingress;
    uint32_t arrival_ns, arrival_ns_high;
    uint32_t window; /* bytes of the packet that are in the window */
    uint16_t entry;  /* of an engine that is cut: at which of its part's entries the packet was handed over */
    uint16_t egress; /* the port that was set when it was handed over */
    uint32_t begun_ns, begun_ns_high; /* when the packet arrived that the thread was begun for */
};

#define WL_INFORMATION ((const struct wl_information *)(WL_STORE + 0x480))
/* All words of a call's arguments but the last, which the call itself carries. */
#define WL_ARGUMENTS ((volatile uint32_t *)(WL_STORE + 0x4c0))
/* The replies, eight words for each ticket. */
#define WL_REPLIES ((const uint32_t *)(WL_STORE + 0x540))
/* What goes with a packet that is handed over to another part: in the place of replies, of which none is under way then. */
#define WL_CONTEXT ((uint32_t *)(WL_STORE + 0x540))

/* Kinds of SEND. */
enum { WL_FINISH, WL_DROP, WL_TO_CPU, WL_DONE, WL_RUNAWAY, WL_EMIT, WL_FORWARD };
#define WL_VERDICT(kind, set, reason) ((kind) | (uint32_t)(reason) << 8 | (uint32_t)(set) << 24)

/* In the address of a call: its only argument is a field of the window, and the word points behind the field's last byte. */
#define WL_FIELD UINT32_C(8)

/* Launches a call. What is read of earlier replies is read before: a ticket's reply may come at any time from here on. */
WL_INLINE void wl_launch(uint32_t call, uint32_t word)
{
    __asm__ volatile("" ::: "memory");
    *(volatile uint32_t *)(WL_OBJECTS + call) = word;
}

/* A call whose arguments but the last word are in their place. */
WL_INLINE void wl_call(uint32_t object, uint32_t method, uint32_t ticket, uint32_t last)
{
    wl_launch(object << 24 | method << 8 | ticket << 4, last);
}

/* Behind a call that takes bytes of the packet: what changes them is not written before it. */
WL_INLINE void wl_taken(void)
{
    __asm__ volatile("" ::: "memory");
}

/* The packet makes no more calls of an object that must see packets in the order of their arrival: the next packet may. */
WL_INLINE void wl_release(uint32_t object)
{
    WL_RELEASE = object;
}

/* Waits for a reply; answers its first word. Then all of it is in its place. */
WL_INLINE uint32_t wl_wait(uint32_t ticket)
{
    uint32_t first = WL_WAIT(ticket);
    __asm__ volatile("" ::: "memory");
    return first;
}

#endif
