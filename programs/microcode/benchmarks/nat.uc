; nat: network address and port translation of TCP and UDP over IPv4. Even ports are inside, odd ones
; outside; port 0 leads to 1, 2 to 3 and so on.
;
;   from inside   the sender gets the outside address and the port of its binding, which is made if
;                 there is none
;   from outside  to the outside address and a bound port: the receiver is that of the binding
;
; Bindings are not removed. Fragments, packets with options, other protocols and other frames go to
; the processor core; what is for no binding is dropped. Frames of more than 1,920 bytes too.
;
; Assemble with -D RECEIVE=1, -D TRANSMIT=1, or both. Besides what ../include/threads.inc explains,
; the host supplies
;   OUTSIDE    the outside address
;   BUCKETS    the word address in SRAM of 16,384 words: the first binding of a chain, by the low bits
;              of the hash of the inside endpoint
;   BINDINGS   the word address of binding 0, which is not used. A binding has the inside address; the
;              protocol and the port; the next binding of the chain; and a word that is free.
;              Binding n has the outside port 16,384 + n; list 1 of SRAM holds free ones.

#include "../include/threads.inc"

#ifdef RECEIVE
.import_var OUTSIDE BUCKETS BINDINGS
#define RUNT 0
#define MALFORMED 1
#define NOT_IPV4 2
#define OPTIONS 3
#define FRAGMENT 4
#define OTHER_PROTOCOL 5
#define NO_BINDING 6
#define NO_PORT 7
#define TOO_LONG 8

; List of free bindings.
#define FREE_BINDINGS 1

; The sum of ones' complement in 16 bits: twice, since the first fold can carry.
#macro fold(sum)
    .begin
    .reg part
    alu_shf[part, --, B, sum, >>16]
    ld_field_w_clr[sum, 0011, sum]
    alu[sum, sum, +, part]
    alu_shf[part, --, B, sum, >>16]
    ld_field_w_clr[sum, 0011, sum]
    alu[sum, sum, +, part]
    .end
#endm

    begin_receiving()
#include "../include/receive.inc"
#include "../include/ipv4_lengths.inc"
    .if_unsigned (length > 20)
        to_cpu(OPTIONS)
    .endif

    .begin
    .reg protocol from to key was is was_port is_port delta
    ; More fragments, or an offset.
    .begin
    .reg part
    alu_shf[part, --, B, h5, >>16]
    alu_shf[part, --, B, part, <<18]
    br=0[one_piece#]
    .end
    to_cpu(FRAGMENT)
one_piece#:
    ld_field_w_clr[protocol, 0001, h5]
    alu[total, total, -, 20]
    .if (protocol == 6)
        .if_unsigned (total < 20)
            drop(MALFORMED)
        .endif
    .elif (protocol == 17)
        .if_unsigned (total < 8)
            drop(MALFORMED)
        .endif
    .else
        to_cpu(OTHER_PROTOCOL)
    .endif
    ; The addresses; a copy of h7, since the banks of its neighbours differ.
    .begin
    .reg middle
    alu[middle, --, B, h7]
    dbl_shf[from, h6, middle, >>16]
    dbl_shf[to, middle, h8, >>16]
    .end
    ; The port at the other end.
    alu[control, request, AND, 31]
    alu[control, control, XOR, 1]
    alu_shf[control, --, B, control, <<12]
    br_bset[request, 0, inbound#]

; ---------------------------------------------------------------------------------------------
; From inside: the chain of the sender.
    .begin
    .reg base bucket entry head locked mask other
    ld_field_w_clr[was_port, 0011, h8]
    alu_shf[key, was_port, OR, protocol, <<16]
    alu[$w0, --, B, key]
    alu[$w1, --, B, from]
    hash1_64[$w0], ctx_swap
    immed[mask, 0x3fff]
    alu[bucket, mask, AND, $w0]
    immed32[base, BUCKETS]
    immed[locked, 0]
    sram[read, $w0, base, bucket, 1], ctx_swap
head#:
    alu[head, --, B, $w0]
    alu[entry, --, B, head]
chain#:
    alu[--, --, B, entry]
    br=0[missing#]
    sram[read, $w0, entry, 0, 3], ctx_swap
    alu[--, from, XOR, $w0]
    br!=0[other#]
    alu[--, key, XOR, $w1]
    br=0[found#]
other#:
    alu[entry, --, B, $w2]
    br[chain#]
missing#:
    .if (locked == 0)
        ; Another thread may have added it: look again while nobody can.
        immed[locked, 1]
        sram[read_lock, $w0, base, bucket, 1], ctx_swap
        br[head#]
    .endif
    sram[pop, $w0, FREE_BINDINGS], ctx_swap
    alu[entry, --, B, $w0]
    br!=0[bind#]
    sram[unlock, --, base, bucket], ctx_swap
    drop(NO_PORT)
bind#:
    alu[$w0, --, B, from]
    alu[$w1, --, B, key]
    alu[$w2, --, B, head]
    sram[write, $w0, entry, 0, 3], ctx_swap
    alu[$w0, --, B, entry]
    sram[write_unlock, $w0, base, bucket, 1], ctx_swap
    br[bound#]
found#:
    .if (locked != 0)
        sram[unlock, --, base, bucket], ctx_swap
    .endif
bound#:
    immed32[other, BINDINGS]
    alu[is_port, entry, -, other]
    alu_shf[is_port, --, B, is_port, >>2]
    immed[mask, 0x4000]
    alu[is_port, is_port, +, mask]
    alu[was, --, B, from]
    immed32[is, OUTSIDE]
    .end
    br[translate#]

; ---------------------------------------------------------------------------------------------
; From outside: the binding by its number.
inbound#:
    .begin
    .reg base number_of mask other
    alu_shf[base, --, B, buffer, <<8]
    sdram[read, $$d0, base, 4, 1], ctx_swap
    alu_shf[was_port, --, B, $$d1, >>16]
    immed32[other, OUTSIDE]
    alu[--, to, XOR, other]
    br!=0[unknown#]
    immed[mask, 0x4000]
    alu[number_of, was_port, -, mask]
    immed[mask, 0x8000]
    .if_unsigned (number_of >= mask)
        br[unknown#]
    .endif
    alu_shf[number_of, --, B, number_of, <<2]
    immed32[base, BINDINGS]
    sram[read, $w0, base, number_of, 2], ctx_swap
    alu[is, --, B, $w0]
    ld_field_w_clr[is_port, 0011, $w1]
    alu_shf[other, --, B, $w1, >>16]
    alu[--, other, XOR, protocol]
    br=0[known#]
unknown#:
    drop(NO_BINDING)
known#:
    alu[was, --, B, to]
    .end

; ---------------------------------------------------------------------------------------------
; RFC 1624 equation 3: ~(~checksum + ~old + new), for the address, and for address and port.
translate#:
    .begin
    .reg sum part
    alu[part, --, ~B, was]
    alu_shf[delta, --, B, part, >>16]
    ld_field_w_clr[part, 0011, part]
    alu[delta, delta, +, part]
    alu_shf[part, --, B, is, >>16]
    alu[delta, delta, +, part]
    ld_field_w_clr[part, 0011, is]
    alu[delta, delta, +, part]
    alu_shf[sum, --, ~B, h6, >>16]
    ld_field_w_clr[sum, 0011, sum]
    alu[sum, sum, +, delta]
    fold(sum)
    alu[sum, --, ~B, sum]
    ld_field[h6, 1100, sum, <<16]
    ; The port as well.
    alu[part, --, ~B, was_port]
    ld_field_w_clr[part, 0011, part]
    alu[delta, delta, +, part]
    alu[delta, delta, +, is_port]
    .end

    .begin
    .reg sum place w8 w9 w10 w12 all
    ; The header of TCP or UDP is in words 8 to 13.
    alu_shf[place, --, B, buffer, <<8]
    sdram[read, $$d0, place, 4, 3], ctx_swap
    alu[w8, --, B, $$d0]
    alu[w9, --, B, $$d1]
    alu[w10, --, B, $$d2]
    alu[$$d5, --, B, $$d3]
    alu[w12, --, B, $$d4]
    alu[$$d7, --, B, $$d5]
    .if (protocol == 6)
        alu[sum, --, ~B, w12]
        ld_field_w_clr[sum, 0011, sum]
        alu[sum, sum, +, delta]
        fold(sum)
        alu[sum, --, ~B, sum]
        ld_field[w12, 0011, sum]
    .else
        ; 0 says that there is none, and a sum of 0 is sent as ones (RFC 768).
        alu_shf[sum, --, B, w10, >>16]
        br=0[summed#]
        alu[sum, --, ~B, sum]
        ld_field_w_clr[sum, 0011, sum]
        alu[sum, sum, +, delta]
        fold(sum)
        alu[sum, --, ~B, sum]
        ld_field_w_clr[sum, 0011, sum]
        alu[--, --, B, sum]
        br!=0[sum#]
        immed[all, 0xffff]
        alu[sum, --, B, all]
sum#:
        ld_field[w10, 1100, sum, <<16]
summed#:
    .endif
    br_bset[request, 0, receiver#]
    ; The sender: its address in h6 and h7, its port in word 8.
    ld_field[h6, 0011, is, >>16]
    ld_field[h7, 1100, is, <<16]
    ld_field[w8, 0011, is_port]
    br[write#]
receiver#:
    ld_field[h7, 0011, is, >>16]
    ld_field[w8, 1100, is, <<16]
    ld_field[w9, 1100, is_port, <<16]
write#:
    alu[$$d0, --, B, h6]
    alu[$$d1, --, B, h7]
    alu[$$d2, --, B, w8]
    alu[$$d3, --, B, w9]
    alu[$$d4, --, B, w10]
    alu[$$d6, --, B, w12]
    sdram[write, $$d0, place, 3, 4], ctx_swap
    .end
    .end
    br[transmit#]
not_ipv4#:
    to_cpu(NOT_IPV4)
#include "../include/post.inc"
#endif

#ifdef TRANSMIT
#include "../include/transmit.inc"
#endif
