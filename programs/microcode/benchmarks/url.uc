; url: sends a packet to the port of the first pattern in its TCP payload, as programs/url.loom does,
; for untagged IPv4; other frames go to port 0. Frames of more than 1,920 bytes are dropped.
;
; Assemble with -D RECEIVE=1, -D TRANSMIT=1, or both. Besides what ../include/threads.inc explains,
; the host supplies
;   AUTOMATON  the granule of SDRAM at which the automaton begins: a row of 256 words for each state,
;              by the next byte. A word is the granule of the next state's row, or bit 31 and the port.

#include "../include/threads.inc"

#ifdef RECEIVE
.import_var AUTOMATON
; Reasons, as in programs/url.loom, and one of this program.
#define RUNT 0
#define MALFORMED 1
#define TOO_LONG 2

    begin_receiving()
#include "../include/receive.inc"
    immed[control, 0]
#include "../include/ipv4_lengths.inc"

    .begin
    .reg place at end word second byte state granule part
    alu_shf[place, --, B, buffer, <<8]
    ; TCP, and the first fragment.
    .if (byte(h5, 0) != 6)
        br[not_ipv4#]
    .endif
    alu_shf[part, --, B, h5, >>16]
    alu_shf[part, --, B, part, <<19]
    br!=0[not_ipv4#]
    alu[part, total, -, length]
    .if_unsigned (part < 20)
        drop(MALFORMED)
    .endif
    ; Its header's length is in the upper half of byte 12: always byte 2 of a word.
    alu[at, length, +, 26]
    alu_shf[granule, --, B, at, >>3]
    sdram[read, $$d0, place, granule, 1], ctx_swap
    alu[word, --, B, $$d0]
    br_bclr[at, 2, offset#]
    alu[word, --, B, $$d1]
offset#:
    alu_shf[part, 15, AND, word, >>12]
    alu_shf[part, --, B, part, <<2]
    .begin
    .reg size
    alu[size, total, -, length]
    .if_unsigned (part < 20 || size < part)
        drop(MALFORMED)
    .endif
    .end
    alu[at, length, +, 14]
    alu[at, at, +, part]
    alu[end, total, +, 14]
    alu[--, end, -, at]
    br=0[not_ipv4#]
    immed32[state, AUTOMATON]

load#:
    alu_shf[granule, --, B, at, >>3]
    sdram[read, $$d0, place, granule, 1], ctx_swap
    alu[word, --, B, $$d0]
    alu[second, --, B, $$d1]
    br_bclr[at, 2, first#]
    alu[word, --, B, second]
first#:
    ; The bytes before `at` are over.
    alu[part, at, AND, 3]
    alu_shf[part, --, B, part, <<3]
    alu[--, part, OR, 0]
    alu_shf[word, --, B, word, <<indirect]
byte#:
    ld_field_w_clr[byte, 0001, word, >>24]
    alu_shf[granule, --, B, byte, >>1]
    sdram[read, $$d2, state, granule, 1], ctx_swap
    alu_shf[word, --, B, word, <<8]
    alu[state, --, B, $$d2]
    br_bclr[byte, 0, even#]
    alu[state, --, B, $$d3]
even#:
    br_bset[state, 31, found#]
    alu[at, at, +, 1]
    alu[--, end, -, at]
    br=0[not_ipv4#]
    alu[part, at, AND, 3]
    br!=0[byte#]
    br_bclr[at, 2, load#]
    alu[word, --, B, second]
    br[byte#]
found#:
    ld_field_w_clr[control, 0011, state]
    alu_shf[control, --, B, control, <<12]
    .end
not_ipv4#:
#include "../include/post.inc"
#endif

#ifdef TRANSMIT
#include "../include/transmit.inc"
#endif
