; ipfwdr: forwards IPv4 as programs/ipv4.loom does (header validation, a trie for destination and
; source, next hop), frames of up to 1,920 bytes. A longer one is dropped with the reason TOO_LONG.
;
; Assemble with -D RECEIVE=1, -D TRANSMIT=1, or both. What the host supplies is in
; ../include/threads.inc and ../include/ipv4.inc.

#include "../include/threads.inc"

#ifdef RECEIVE
#include "../include/ipv4.inc"
    .begin
    .reg base port
    begin_receiving()
    alu[port, request, AND, 31]
    alu_shf[port, --, B, port, <<1]
    immed32[base, PORTS]
    sram[read, $w0, base, port, 2], ctx_swap
    alu[mac_high, --, B, $w0]
    alu_shf[any_station, 1, AND, $w1, <<0]
    alu_shf[mac_low, $w1, AND~, 1, <<0]
    .end

#include "../include/receive.inc"
#include "../include/ipv4_forward.inc"

rewritten#:
    alu[$$d0, --, B, h0]
    alu[$$d1, --, B, h1]
    alu[$$d2, --, B, h2]
    alu[$$d3, --, B, h3]
    alu[$$d4, --, B, h4]
    alu[$$d5, --, B, h5]
    alu[$$d6, --, B, h6]
    alu[$$d7, --, B, h7]
    .begin
    .reg place
    alu_shf[place, --, B, buffer, <<8]
    sdram[write, $$d0, place, 0, 4], ctx_swap
    .end
#include "../include/post.inc"
#endif

#ifdef TRANSMIT
#include "../include/transmit.inc"
#endif
