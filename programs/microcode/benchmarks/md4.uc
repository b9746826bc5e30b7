; md4: appends the digest of RFC 1320 of the IP payload to the packet, as programs/md4.loom does, for
; untagged IPv4; other frames leave as they are. Port 0 leads to 1, 2 to 3 and so on. Frames of more
; than 1,920 bytes are dropped.
;
; Assemble with -D RECEIVE=1, -D TRANSMIT=1, or both. Besides what ../include/threads.inc explains,
; the host supplies
;   FRAMES  the word address in SRAM of eight words for each thread: the state, and two registers

#include "../include/threads.inc"

#ifdef RECEIVE
.import_var FRAMES
; Reasons, as in programs/md4.loom.
#define RUNT 0
#define MALFORMED 1
#define TOO_LONG 2

#include "../include/md4_rounds.inc"

; The place of this thread's frame.
#macro frame(at)
    .begin
    .reg base
    ld_field_w_clr[at, 0001, request, >>16]
    alu_shf[at, --, B, at, <<3]
    ; An imported value changes a half and the other: without this the register keeps its place always.
    immed[base, 0]
    immed32[base, FRAMES]
    alu[at, at, +, base]
    .end
#endm

; What of the word stays before byte `offset` modulo 4: 0x80 follows, and zeros.
#macro cut(word, offset, marker)
    .begin
    .reg bit mask one
    alu[bit, offset, AND, 3]
    alu_shf[bit, --, B, bit, <<3]
    alu_shf[one, --, B, 1, <<31]
    alu[--, bit, OR, 0]
    alu_shf[marker, --, B, one, >>indirect]
    alu_shf[mask, --, B, marker, <<1]
    alu[mask, mask, -, 1]
    alu[word, word, AND~, mask]
    .end
#endm

    begin_receiving()
#include "../include/receive.inc"
#include "../include/ipv4_lengths.inc"

; ---------------------------------------------------------------------------------------------
; Pads the message in its buffer (sections 3.1 and 3.2): a bit, zeros, and the length in bits.
.reg at=a14 end=b14 blocks=b13
    alu[at, length, +, 14]
    alu[end, total, +, 14]
    .begin
    .reg place granule last low high marker bits
    alu_shf[place, --, B, buffer, <<8]
    alu[bits, total, -, length]
    ; 64 bytes a block; at least 9 follow the message.
    immed[blocks, 72]
    alu[blocks, blocks, +, bits]
    alu_shf[blocks, --, B, blocks, >>6]
    alu_shf[granule, --, B, end, >>3]
    sdram[read, $$d0, place, granule, 1], ctx_swap
    alu[high, --, B, $$d0]
    alu[low, --, B, $$d1]
    .if (bit(end, 2))
        cut(low, end, marker)
        alu[low, low, OR, marker]
    .else
        cut(high, end, marker)
        alu[high, high, OR, marker]
        immed[low, 0]
    .endif
    alu[$$d0, --, B, high]
    alu[$$d1, --, B, low]
    sdram[write, $$d0, place, granule, 1], ctx_swap
    ; The last two bytes of the word before the length's eight are those that are not 0.
    alu_shf[last, --, B, blocks, <<6]
    alu[last, last, +, at]
    alu[last, last, -, 10]
    .begin
    .reg limit
    alu[$$d0, --, B, 0]
    alu[$$d1, --, B, 0]
    alu[$$d2, --, B, 0]
    alu[$$d3, --, B, 0]
    alu[$$d4, --, B, 0]
    alu[$$d5, --, B, 0]
    alu[$$d6, --, B, 0]
    alu[$$d7, --, B, 0]
    alu[limit, last, +, 9]
    alu_shf[limit, --, B, limit, >>3]
    alu[granule, granule, +, 1]
    .while_unsigned (granule <= limit)
        sdram[write, $$d0, place, granule, 4], ctx_swap
        alu[granule, granule, +, 4]
    .endw
    .end
    alu_shf[granule, --, B, last, >>3]
    sdram[read, $$d0, place, granule, 1], ctx_swap
    alu[high, --, B, $$d0]
    alu[low, --, B, $$d1]
    alu_shf[bits, --, B, bits, <<3]
    .begin
    .reg swapped
    ld_field_w_clr[swapped, 0001, bits, >>8]
    ld_field[swapped, 0010, bits, <<8]
    .if (bit(last, 2))
        alu[low, low, OR, swapped]
    .else
        alu[high, high, OR, swapped]
    .endif
    .end
    alu[$$d0, --, B, high]
    alu[$$d1, --, B, low]
    sdram[write, $$d0, place, granule, 1], ctx_swap
    .end

; ---------------------------------------------------------------------------------------------
.reg a b c d
    ; Blocks need the registers of these.
    .begin
    .reg at_frame
    frame(at_frame)
    alu[$w0, --, B, number]
    alu[$w1, --, B, fifo]
    sram[write, $w0, at_frame, 4, 2], ctx_swap
    .end
    immed32[a, 0x67452301]
    immed32[b, 0xefcdab89]
    immed32[c, 0x98badcfe]
    immed32[d, 0x10325476]
block#:
    .begin
    .reg x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15
    .begin
    .reg at_frame
    frame(at_frame)
    alu[$w0, --, B, a]
    alu[$w1, --, B, b]
    alu[$w2, --, B, c]
    alu[$w3, --, B, d]
    sram[write, $w0, at_frame, 0, 4], ctx_swap
    .end
    ; The state gives its registers to the words meanwhile.
    ; A block begins in the middle of a word: of the first of a granule, or the second.
    .begin
    .reg place word
    alu_shf[place, --, B, at, >>3]
    alu_shf[place, place, OR, buffer, <<8]
    sdram[read, $$d0, place, 0, 4], ctx_swap
    br_bset[at, 2, second#]
    alu[word, --, B, $$d0]
    next_word(x0, word, $$d1)
    next_word(x1, word, $$d2)
    next_word(x2, word, $$d3)
    next_word(x3, word, $$d4)
    next_word(x4, word, $$d5)
    next_word(x5, word, $$d6)
    next_word(x6, word, $$d7)
    sdram[read, $$d0, place, 4, 4], ctx_swap
    next_word(x7, word, $$d0)
    next_word(x8, word, $$d1)
    next_word(x9, word, $$d2)
    next_word(x10, word, $$d3)
    next_word(x11, word, $$d4)
    next_word(x12, word, $$d5)
    next_word(x13, word, $$d6)
    next_word(x14, word, $$d7)
    sdram[read, $$d0, place, 8, 1], ctx_swap
    next_word(x15, word, $$d0)
    br[taken#]
second#:
    alu[word, --, B, $$d1]
    next_word(x0, word, $$d2)
    next_word(x1, word, $$d3)
    next_word(x2, word, $$d4)
    next_word(x3, word, $$d5)
    next_word(x4, word, $$d6)
    next_word(x5, word, $$d7)
    sdram[read, $$d0, place, 4, 4], ctx_swap
    next_word(x6, word, $$d0)
    next_word(x7, word, $$d1)
    next_word(x8, word, $$d2)
    next_word(x9, word, $$d3)
    next_word(x10, word, $$d4)
    next_word(x11, word, $$d5)
    next_word(x12, word, $$d6)
    next_word(x13, word, $$d7)
    sdram[read, $$d0, place, 8, 1], ctx_swap
    next_word(x14, word, $$d0)
    next_word(x15, word, $$d1)
taken#:
    .end
    .begin
    .reg at_frame
    frame(at_frame)
    sram[read, $w0, at_frame, 0, 4], ctx_swap
    alu[a, --, B, $w0]
    alu[b, --, B, $w1]
    alu[c, --, B, $w2]
    alu[d, --, B, $w3]
    .end
    md4_rounds()
    .end
    .begin
    .reg at_frame step
    frame(at_frame)
    sram[read, $w0, at_frame, 0, 4], ctx_swap
    alu[a, a, +, $w0]
    alu[b, b, +, $w1]
    alu[c, c, +, $w2]
    alu[d, d, +, $w3]
    immed[step, 64]
    alu[at, at, +, step]
    .end
    alu[blocks, blocks, -, 1]
    br!=0[block#]
    .begin
    .reg at_frame
    frame(at_frame)
    sram[read, $w0, at_frame, 4, 2], ctx_swap
    alu[number, --, B, $w0]
    alu[fifo, --, B, $w1]
    .end

; ---------------------------------------------------------------------------------------------
; The digest goes behind the message, and the header says so.
    .begin
    .reg place granule high low marker left right e f g h p
    alu_shf[place, --, B, buffer, <<8]
    alu_shf[granule, --, B, end, >>3]
    sdram[read, $$d0, place, granule, 1], ctx_swap
    alu[high, --, B, $$d0]
    alu[low, --, B, $$d1]
    swap_bytes(e, a)
    swap_bytes(f, b)
    swap_bytes(g, c)
    swap_bytes(h, d)
    ; By `right` to the right, and by 32 less that to the left.
    alu[right, end, AND, 3]
    alu_shf[right, --, B, right, <<3]
    immed[left, 31]
    alu[left, left, -, right]
    .if (bit(end, 2))
        cut(low, end, marker)
        joined(p, low, e)
        alu[$$d0, --, B, high]
        alu[$$d1, --, B, p]
        shifted($$d2, e, f)
        shifted($$d3, f, g)
        shifted($$d4, g, h)
        shifted($$d5, h, 0)
    .else
        cut(high, end, marker)
        joined(p, high, e)
        alu[$$d0, --, B, p]
        shifted($$d1, e, f)
        shifted($$d2, f, g)
        shifted($$d3, g, h)
        shifted($$d4, h, 0)
        alu[$$d5, --, B, 0]
    .endif
    sdram[write, $$d0, place, granule, 3], ctx_swap
    alu[bytes, end, +, 16]

    ; RFC 1624 equation 3: ~(~checksum + ~old + new), for the length.
    .begin
    .reg sum part h4 h5 h6 h7
    sdram[read, $$d0, place, 2, 2], ctx_swap
    alu[h4, --, B, $$d0]
    alu[h6, --, B, $$d2]
    alu[$$d1, --, B, $$d1]
    alu[$$d3, --, B, $$d3]
    alu_shf[part, --, ~B, h4, >>16]
    ld_field_w_clr[part, 0011, part]
    alu_shf[sum, --, ~B, h6, >>16]
    ld_field_w_clr[sum, 0011, sum]
    alu[sum, sum, +, part]
    alu_shf[part, --, B, 16, <<16]
    alu[h4, h4, +, part]
    alu_shf[part, --, B, h4, >>16]
    alu[sum, sum, +, part]
    alu_shf[part, --, B, sum, >>16]
    ld_field_w_clr[sum, 0011, sum]
    alu[sum, sum, +, part]
    alu_shf[part, --, B, sum, >>16]
    ld_field_w_clr[sum, 0011, sum]
    alu[sum, sum, +, part]
    alu[sum, --, ~B, sum]
    ld_field[h6, 1100, sum, <<16]
    alu[$$d0, --, B, h4]
    alu[$$d2, --, B, h6]
    sdram[write, $$d0, place, 2, 2], ctx_swap
    .end
    .end
not_ipv4#:
    ; The port at the other end.
    alu[control, request, AND, 31]
    alu[control, control, XOR, 1]
    alu_shf[control, --, B, control, <<12]
#include "../include/post.inc"
#endif

#ifdef TRANSMIT
#include "../include/transmit.inc"
#endif
