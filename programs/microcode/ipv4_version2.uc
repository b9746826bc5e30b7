; The IPv4 forwarder of ipv4.uc for microengines of version 2 (IXP2400, IXP2800), written by hand: for
; frames of at most 64 bytes. A longer frame is dropped with the reason TOO_LONG.
;
; It runs on all contexts of all engines. A thread puts itself on the list of threads that wait for
; MPKTs, and gets the status of one with the signal `arrived`. It looks the addresses up, and puts the
; packet into the element of TBUF whose number is that of the packet modulo 128. So packets leave in
; the order in which they came, and nothing has to be locked.
;
; include/ipv4.inc explains what the host supplies: PORTS, TRIE, NEXT_HOPS. It needs elements of 64
; bytes, and 128 of them in TBUF.

.version 2
#define VERSION_2 1
#define WHOLE 0x180
; Where control words of TBUF begin, and RBUF and TBUF themselves, in bytes.
#define CONTROLS 0x1000
#define BUFFERS 0x2000

; The header in words: Ethernet in h0 to h3, IPv4 from the middle of h3 to the middle of h8.
.reg h0 h1 h2 h3 h4 h5 h6 h7 h8
.reg bytes control number wanted element buffer station
.reg $w0 $w1 $w2 $w3 $w4 $w5 $w6 $w7
; The status of an MPKT: control, packet number, time of arrival.
.reg $status $packet $time_low $time_high
.xfer_order $status $packet $time_low $time_high
.sig arrived memory

#include "include/verdicts.inc"
#include "include/ipv4.inc"

; Waits for the next MPKT: its status in `control`, its packet in `number`, its element in `element`.
#macro next_mpkt()
    msf[fast_wr, wanted, rx_thread_freelist_0]
    ctx_arb[arrived]
    alu[control, --, B, $status]
    alu[number, --, B, $packet]
    .begin
    .reg mask
    immed[mask, 0x7f]
    alu_shf[element, mask, AND, control, >>24]
    .end
#endm

; Eight words at a place in the element of RBUF into the write transfer registers.
#macro from_rbuf(offset)
    msf[read, $w0, buffer, offset, 8], ctx_swap[memory]
#endm

; Once: who asks.
    .begin
    .reg engine context
    local_csr_rd[me_number]
    immed[engine, 0]
    local_csr_rd[active_ctx]
    immed[context, 0]
    immed[wanted, ((&$status << 4) | &arrived)]
    alu_shf[wanted, wanted, OR, context, <<8]
    alu_shf[wanted, wanted, OR, engine, <<11]
    .end

receive#:
    next_mpkt()
    .begin
    .reg mask
    immed[mask, 0x7f]
    alu[bytes, control, AND, mask]
    .end
    br_bset[control, 8, whole#]

    ; Not the last MPKT of its packet: take all, drop the packet.
rest#:
    msf[fast_wr, element, rbuf_element_done]
    next_mpkt()
    br_bclr[control, 8, rest#]
    immed[bytes, 0]
    alu_shf[buffer, --, B, element, <<6]
    immed[station, BUFFERS]
    alu[buffer, buffer, +, station]
    drop(TOO_LONG)

whole#:
    ; The station of the port on which it came: any port can be next.
    .begin
    .reg base port
    alu_shf[port, 31, AND, control, >>12]
    alu_shf[port, --, B, port, <<1]
    immed32[base, PORTS]
    read_sram(base, port, 2)
    alu[mac_high, --, B, $w0]
    alu[station, --, B, $w1]
    alu[any_station, 1, AND, station]
    alu_shf[mac_low, station, AND~, 1, <<0]
    .end
    alu_shf[buffer, --, B, element, <<6]
    .begin
    .reg base
    immed[base, BUFFERS]
    alu[buffer, buffer, +, base]
    .end
    from_rbuf(0)
    alu[h0, --, B, $w0]
    alu[h1, --, B, $w1]
    alu[h2, --, B, $w2]
    alu[h3, --, B, $w3]
    alu[h4, --, B, $w4]
    alu[h5, --, B, $w5]
    alu[h6, --, B, $w6]
    alu[h7, --, B, $w7]
    .begin
    .reg at
    alu[at, buffer, +, 31]
    msf[read, $w0, at, 1, 1], ctx_swap[memory]
    .end
    alu[h8, --, B, $w0]

#include "include/ipv4_forward.inc"

; The packet leaves unchanged: its words are still in RBUF.
transmit#:
    from_rbuf(0)
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
    .reg whole ahead out at base limit
    immed[whole, WHOLE]
    alu[control, control, OR, whole]
    alu[control, control, OR, bytes]
    ; The element of TBUF is free when the packet 128 before this one has left.
    immed[limit, 128]
    .repeat
        cap[read, $w0, xmit_sequence], ctx_swap[memory]
        alu[ahead, number, -, $w0]
    .until_unsigned (ahead < limit)
    alu[ahead, limit, -, 1]
    alu[out, ahead, AND, number]
    alu_shf[at, --, B, out, <<6]
    immed[base, BUFFERS]
    alu[at, at, +, base]
    alu[$w0, --, B, h0]
    alu[$w1, --, B, h1]
    alu[$w2, --, B, h2]
    alu[$w3, --, B, h3]
    alu[$w4, --, B, h4]
    alu[$w5, --, B, h5]
    alu[$w6, --, B, h6]
    alu[$w7, --, B, h7]
    msf[write, $w0, at, 0, 8], ctx_swap[memory]
    immed[base, 32]
    alu[buffer, buffer, +, base]
    from_rbuf(0)
    alu[$w0, --, B, $w0]
    alu[$w1, --, B, $w1]
    alu[$w2, --, B, $w2]
    alu[$w3, --, B, $w3]
    alu[$w4, --, B, $w4]
    alu[$w5, --, B, $w5]
    alu[$w6, --, B, $w6]
    alu[$w7, --, B, $w7]
    alu[at, at, +, base]
    msf[write, $w0, at, 0, 8], ctx_swap[memory]
    msf[fast_wr, element, rbuf_element_done]
    ; Control word and packet number: the second one sends the element.
    alu[$w0, --, B, control]
    alu[$w1, --, B, number]
    alu_shf[at, --, B, out, <<3]
    immed[base, CONTROLS]
    msf[write, $w0, at, base, 2], ctx_swap[memory]
    .end
    br[receive#]
