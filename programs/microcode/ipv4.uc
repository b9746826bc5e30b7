; An IPv4 forwarder for frames of at most 64 bytes on the IXP1200, written by hand.
;
; It forwards as programs/ipv4.loom does with COUNT_FLOWS=false, for untagged frames and next hops
; without labels and VLAN. A longer frame is dropped with the reason TOO_LONG.
;
; It runs on all contexts of engines 0 to 3: sixteen threads, each with its own element of the
; receive FIFO. A thread takes a packet of its port, looks up its addresses, and puts it into the
; element of the transmit FIFO whose number is that of the packet modulo 16. So packets leave in the
; order in which they came, and nothing has to be locked.
;
; The host supplies, as word addresses in SRAM:
;   PORTS      two words for each port: bits 47 to 16 of its MAC address; bits 15 to 0 in the high
;              half, and 1 in bit 0 if it takes frames for any station
;   TRIE       routes, below
;   NEXT_HOPS  four words for each: bits 47 to 16 of the neighbour's MAC address; its bits 15 to 0
;              and bits 47 to 32 of the router's own; bits 31 to 0 of that; port in the high half,
;              MTU in the low half
;   PORT_MASK  the number of ports, a power of two, less 1
;
; A trie has 65,536 entries for the upper 16 bits of an address, then nodes of 16 entries for four
; bits each. An entry is a pointer to a node (bit 31, and the word address in bits 30 to 0) or a
; route: kind in bits 26 to 24, next hop in bits 15 to 0. Prefixes are pushed to the leaves.

.version 1
.import_var PORTS TRIE NEXT_HOPS PORT_MASK

; Reasons, as in programs/include/reasons.loom.
#define RUNT 0
#define OTHER_HOST 1
#define LINK_GROUP 2
#define UNKNOWN_ETHERTYPE 3
#define ARP 4
#define LINK_CONTROL 5
#define IP_VERSION 6
#define IP_LENGTH 7
#define IP_CHECKSUM 8
#define IP_OPTIONS 9
#define MARTIAN_SOURCE 10
#define MARTIAN_DESTINATION 11
#define BROADCAST 12
#define MULTICAST 13
#define MULTICAST_CONTROL 14
#define LOCAL 16
#define NO_ROUTE 17
#define UNREACHABLE 18
#define BLACKHOLE 19
#define SOURCE_UNKNOWN 20
#define TTL_EXPIRED 21
#define NO_NEIGHBOUR 22
#define EXCEEDS_MTU 23
#define TOO_LONG 24

; Kinds of routes, as in programs/include/forwarding.loom.
#define NONE 0
#define FORWARD 1
#define OWN 2
#define DIRECTED_BROADCAST 3
#define CONNECTED 4
#define REJECT 5

; The control word of an MPKT that leaves: first and last of its packet.
#define WHOLE 0x180

; The header in words: Ethernet in h0 to h3, IPv4 from the middle of h3 to the middle of h8.
.reg h0 h1 h2 h3 h4 h5 h6 h7 h8
.reg bytes control number route_to route_from to from
.reg wanted fifo status_at mac_high mac_low any_station
.reg $w0 $w1 $w2 $w3 $w4 $w5 $w6 $w7

; Ends with a verdict: the way in bits 19 to 18 (1: processor core, 2: dropped) and the reason.
#macro to_cpu(reason)
    immed[control, ((1 << 18) | (reason << 24))]
    br[transmit#]
#endm
#macro drop(reason)
    immed[control, ((2 << 18) | (reason << 24))]
    br[transmit#]
#endm

; The route of an address.
#macro look_up(route, address)
    .begin
    .reg base index shift
    immed32[base, TRIE]
    alu_shf[index, --, B, address, >>16]
    sram[read, $w0, base, index, 1], ctx_swap
    alu[route, --, B, $w0]
    immed[shift, 12]
    .while (bit(route, 31))
        ; The amount of an indirect shift is operand A of the instruction before.
        alu[--, shift, OR, route]
        alu_shf[index, 15, AND, address, >>indirect]
        alu_shf[base, route, AND~, 1, <<31]
        sram[read, $w0, base, index, 1], ctx_swap
        alu[shift, shift, -, 4]
        alu[route, --, B, $w0]
    .endw
    .end
#endm

; ---------------------------------------------------------------------------------------------
; Once: which port, which element.
    .begin
    .reg engine context thread port base mask
    local_csr_rd[me_number]
    immed[engine, 0]
    local_csr_rd[active_ctx]
    immed[context, 0]
    alu_shf[thread, context, OR, engine, <<2]
    immed32[mask, PORT_MASK]
    alu[port, thread, AND, mask]
    ; The request: port, element in bits 11 to 8, thread from bit 16 on.
    alu_shf[wanted, port, OR, thread, <<8]
    alu_shf[wanted, wanted, OR, thread, <<16]
    alu_shf[fifo, --, B, thread, <<3]
    immed[status_at, 128]
    alu[status_at, status_at, +, thread]
    immed32[base, PORTS]
    alu_shf[port, --, B, port, <<1]
    sram[read, $w0, base, port, 2], ctx_swap
    alu[mac_high, --, B, $w0]
    alu_shf[any_station, 1, AND, $w1, <<0]
    alu_shf[mac_low, $w1, AND~, 1, <<0]
    .end

; ---------------------------------------------------------------------------------------------
receive#:
    fast_wr[wanted, rcv_req]
    ctx_arb[start_receive]
    r_fifo_rd[$w0, status_at, 0, 1], ctx_swap
    .begin
    .reg mask
    alu[number, --, B, $w1]
    immed[mask, 0x7f]
    alu[bytes, $w0, AND, mask]
    alu[control, --, B, $w0]
    .end
    ; The status stays in the FBI until it is taken.
    csr[read, $w0, rcv_cntl], ctx_swap
    br_bset[control, 8, whole#]

    ; Not the last MPKT of its packet: take all, drop the packet.
rest#:
    fast_wr[wanted, rcv_req]
    ctx_arb[start_receive]
    csr[read, $w0, rcv_cntl], ctx_swap
    alu[control, --, B, $w0]
    br_bclr[control, 8, rest#]
    immed[bytes, 0]
    drop(TOO_LONG)

whole#:
    r_fifo_rd[$w0, fifo, 0, 4], ctx_swap
    alu[h0, --, B, $w0]
    alu[h1, --, B, $w1]
    alu[h2, --, B, $w2]
    alu[h3, --, B, $w3]
    alu[h4, --, B, $w4]
    alu[h5, --, B, $w5]
    alu[h6, --, B, $w6]
    alu[h7, --, B, $w7]
    r_fifo_rd[$w0, fifo, 4, 1], ctx_swap
    alu[h8, --, B, $w0]

; ---------------------------------------------------------------------------------------------
; Ethernet.
    .if_unsigned (bytes < 14)
        drop(RUNT)
    .endif
    .if (!bit(h0, 24) && any_station == 0)
        .begin
        .reg low
        alu[--, h0, XOR, mac_high]
        br!=0[other_host#]
        alu_shf[low, --, B, h1, >>16]
        alu_shf[low, --, B, low, <<16]
        alu[--, low, XOR, mac_low]
        br!=0[other_host#]
        .end
    .endif
    .begin
    .reg type known
    alu_shf[type, --, B, h3, >>16]
    immed[known, 0x0800]
    .if (type != known)
        immed[known, 0x0806]
        .if (type == known)
            to_cpu(ARP)
        .endif
        immed[known, 0x88cc]
        .if (type == known)
            to_cpu(LINK_CONTROL)
        .endif
        immed[known, 0x0600]
        .if_unsigned (type < known)
            to_cpu(LINK_CONTROL)
        .endif
        drop(UNKNOWN_ETHERTYPE)
    .endif
    .end
    br[ipv4#]

other_host#:
    drop(OTHER_HOST)

; ---------------------------------------------------------------------------------------------
; RFC 1812 section 5.2.2.
ipv4#:
    .begin
    .reg arrived total length version
    alu[arrived, bytes, -, 14]
    .if_unsigned (arrived < 20)
        drop(IP_LENGTH)
    .endif
    alu_shf[version, 15, AND, h3, >>12]
    .if (version != 4)
        drop(IP_VERSION)
    .endif
    alu_shf[length, 15, AND, h3, >>8]
    alu_shf[length, --, B, length, <<2]
    alu_shf[total, --, B, h4, >>16]
    .if_unsigned (length < 20 || total < length || arrived < total)
        drop(IP_LENGTH)
    .endif
    .if_unsigned (length > 20)
        to_cpu(IP_OPTIONS)
    .endif
    .end

    ; RFC 1071: the words sum to all ones.
    .begin
    .reg sum part mask
    ld_field_w_clr[sum, 0011, h3]
    alu[sum, sum, +, h4]
    alu[sum, sum, +carry, h5]
    alu[sum, sum, +carry, h6]
    alu[sum, sum, +carry, h7]
    alu[sum, sum, +carry, 0]
    alu_shf[part, --, B, h8, >>16]
    alu[sum, sum, +, part]
    alu[sum, sum, +carry, 0]
    ; Twice: the first fold can carry.
    alu_shf[part, --, B, sum, >>16]
    ld_field_w_clr[sum, 0011, sum]
    alu[sum, sum, +, part]
    alu_shf[part, --, B, sum, >>16]
    ld_field_w_clr[sum, 0011, sum]
    alu[sum, sum, +, part]
    immed[mask, 0xffff]
    .if (sum != mask)
        drop(IP_CHECKSUM)
    .endif
    .end

    ; A copy of h7: the checksum's sum keeps it in the bank of h6.
    .begin
    .reg middle
    alu[middle, --, B, h7]
    dbl_shf[from, h6, middle, >>16]
    dbl_shf[to, middle, h8, >>16]
    .end

; ---------------------------------------------------------------------------------------------
; RFC 1812 section 5.3.7.
    .begin
    .reg top link known
    alu_shf[top, 15, AND, from, >>28]
    .if (top == 14)
        drop(MARTIAN_SOURCE)
    .endif
    alu[--, from, +, 1]
    br=0[martian_source#]
    alu_shf[top, 15, AND, to, >>28]
    .if (top == 14)
        immed[known, 0xe00000]
        alu_shf[link, --, B, to, >>8]
        alu[link, link, XOR, known]
        ; An unspecified source may speak on the link.
        .if (from != 0 || link != 0)
            .if (byte(from, 3) == 0 || byte(from, 3) == 127)
                drop(MARTIAN_SOURCE)
            .endif
        .endif
        .if (link == 0)
            to_cpu(MULTICAST_CONTROL)
        .endif
        drop(MULTICAST)
    .endif
    .end
    alu[--, to, +, 1]
    br!=0[one_station#]
    .if (from != 0)
        .if (byte(from, 3) == 0 || byte(from, 3) == 127)
            drop(MARTIAN_SOURCE)
        .endif
    .endif
    to_cpu(BROADCAST)
martian_source#:
    drop(MARTIAN_SOURCE)
one_station#:
    .if (byte(from, 3) == 0 || byte(from, 3) == 127)
        drop(MARTIAN_SOURCE)
    .endif
    .if (byte(to, 3) == 0 || byte(to, 3) == 127)
        drop(MARTIAN_DESTINATION)
    .endif

; ---------------------------------------------------------------------------------------------
    look_up(route_to, to)
    look_up(route_from, from)
    ; Ethernet pads: the packet ends where its length says.
    alu_shf[bytes, --, B, h4, >>16]
    alu[bytes, bytes, +, 14]

    .begin
    .reg kind source
    alu_shf[kind, 7, AND, route_to, >>24]
    alu_shf[source, 7, AND, route_from, >>24]
    .if (source == OWN)
        drop(MARTIAN_SOURCE)
    .endif
    .if (kind == OWN)
        to_cpu(LOCAL)
    .endif
    .if (kind == DIRECTED_BROADCAST)
        to_cpu(BROADCAST)
    .endif
    .if (bit(h0, 24))
        drop(LINK_GROUP)
    .endif
    .if (kind == NONE)
        to_cpu(NO_ROUTE)
    .endif
    .if (kind == CONNECTED)
        to_cpu(NO_NEIGHBOUR)
    .endif
    .if (kind == REJECT)
        to_cpu(UNREACHABLE)
    .endif
    .if (kind != FORWARD)
        drop(BLACKHOLE)
    .endif
    .if (source == NONE)
        to_cpu(SOURCE_UNKNOWN)
    .endif
    .end
    .begin
    .reg ttl
    ld_field_w_clr[ttl, 0001, h5, >>8]
    .if_unsigned (ttl <= 1)
        to_cpu(TTL_EXPIRED)
    .endif
    .end

; ---------------------------------------------------------------------------------------------
    .begin
    .reg base index total mtu
    immed32[base, NEXT_HOPS]
    ld_field_w_clr[index, 0011, route_to]
    alu_shf[index, --, B, index, <<2]
    sram[read, $w0, base, index, 4], ctx_swap
    ; The neighbour's address is 0 if it is not known yet.
    alu_shf[total, --, B, $w1, >>16]
    alu[total, total, OR, $w0]
    br!=0[known_neighbour#]
    to_cpu(NO_NEIGHBOUR)
known_neighbour#:
    ld_field_w_clr[mtu, 0011, $w3]
    alu_shf[total, --, B, h4, >>16]
    .if_unsigned (total > mtu)
        to_cpu(EXCEEDS_MTU)
    .endif
    alu[h0, --, B, $w0]
    alu[h1, --, B, $w1]
    alu[h2, --, B, $w2]
    alu_shf[control, --, B, $w3, >>16]
    alu_shf[control, --, B, control, <<12]
    .end

    ; TTL less 1; RFC 1624 equation 3: ~(~checksum + ~old + new), and ~old + new is 0xfeff.
    .begin
    .reg sum step update
    immed[step, 0x100]
    alu[h5, h5, -, step]
    alu_shf[sum, --, ~B, h6, >>16]
    ld_field_w_clr[sum, 0011, sum]
    immed[update, 0xfeff]
    alu[sum, sum, +, update]
    alu_shf[update, --, B, sum, >>16]
    ld_field_w_clr[sum, 0011, sum]
    alu[sum, sum, +, update]
    alu[sum, --, ~B, sum]
    ld_field[h6, 1100, sum, <<16]
    .end
    br[rewritten#]

; ---------------------------------------------------------------------------------------------
; The packet leaves unchanged: its words are still in the receive FIFO.
transmit#:
    r_fifo_rd[$w0, fifo, 0, 4], ctx_swap
    alu[h0, --, B, $w0]
    alu[h1, --, B, $w1]
    alu[h2, --, B, $w2]
    alu[h3, --, B, $w3]
    alu[h4, --, B, $w4]
    alu[h5, --, B, $w5]
    alu[h6, --, B, $w6]
    alu[h7, --, B, $w7]

rewritten#:
    .begin
    .reg whole ahead element out
    immed[whole, WHOLE]
    alu[control, control, OR, whole]
    alu[control, control, OR, bytes]
    ; The element is free when the packet 16 before this one has left.
    .repeat
        csr[read, $w0, xmit_sequence], ctx_swap
        alu[ahead, number, -, $w0]
    .until_unsigned (ahead < 16)
    alu[element, 15, AND, number]
    alu_shf[out, --, B, element, <<3]
    alu[$w0, --, B, h0]
    alu[$w1, --, B, h1]
    alu[$w2, --, B, h2]
    alu[$w3, --, B, h3]
    alu[$w4, --, B, h4]
    alu[$w5, --, B, h5]
    alu[$w6, --, B, h6]
    alu[$w7, --, B, h7]
    t_fifo_wr[$w0, out, 0, 4], ctx_swap
    r_fifo_rd[$w0, fifo, 4, 4], ctx_swap
    alu[$w0, --, B, $w0]
    alu[$w1, --, B, $w1]
    alu[$w2, --, B, $w2]
    alu[$w3, --, B, $w3]
    alu[$w4, --, B, $w4]
    alu[$w5, --, B, $w5]
    alu[$w6, --, B, $w6]
    alu[$w7, --, B, $w7]
    t_fifo_wr[$w0, out, 4, 4], ctx_swap
    alu[$w0, --, B, control]
    alu[$w1, --, B, number]
    immed[out, 128]
    alu[out, out, +, element]
    t_fifo_wr[$w0, out, 0, 1], ctx_swap
    fast_wr[element, xmit_validate]
    .end
    br[receive#]
