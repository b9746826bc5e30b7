    ; In the order in which packets came (thread.uc: `turn_of`).
    sram[read, $0, frame, 0, 1], ctx_swap
numbered#:
    alu[number, --, B, $0]
    alu[bytes, payload, +, window]
    br_bclr[control, 19, all_bytes#]
    immed[bytes, 0]
all_bytes#:
#ifdef PIECES
    ; Of a copy of some bytes, those that the packet has: their first one is the front until it has been sent. Word 187 of
    ; the frame has its offset, and below it the complement of their number.
    immed[w, 187]
    sram[read, $0, frame, w, 1], ctx_swap
    alu_shf[n, --, B, $0, >>16]
    alu[--, bytes, -, n]
    br=cout[begins#]
    alu[n, --, B, bytes]
begins#:
    alu[p0, --, B, n]
    alu[front, front, +, p0]
    alu[bytes, bytes, -, n]
    alu[n, --, ~B, $0]
    alu_shf[n, --, B, n, <<16]
    alu_shf[n, --, B, n, >>16]
    alu[--, n, -, bytes]
    br=cout[ends#]
    alu[bytes, --, B, n]
ends#:
#endif
    ; A word of the packet is made of two of the buffer: by 8 times the offset to the left, and by
    ; 32 less that to the right.
    alu_shf[quad, --, B, front, >>3]
    alu_shf[parity, 1, AND, front, >>2]
    alu[left, front, AND, 3]
    alu_shf[left, --, B, left, <<3]
    immed[mask, 31]
    alu[right, mask, -, left]
    ; First of its packet.
    immed[mask, 128]
    alu[control, control, OR, mask]
    ; Four words are in three quad words of the buffer. Those of the next four are read while these go out, and
    ; the first ones before the packet has its turn.
    alu[--, --, B, bytes]
    br=0[unread#]
    sdram[read, $$0, base, quad, 3], ctx_swap
unread#:
    turn_of(place, number)
    ; Waits: bit 1 and the thread, and bit 4 if it is one of an element without further outputs. Bit 0 in what was there: its
    ; turn has come already.
    alu_shf[t, 2, OR, thread, <<8]
    br_bset[control, 17, waits#]
    immed[n, 64]
    alu[--, n, -, bytes]
    br!=cout[waits#]
    alu[t, t, OR, 16]
waits#:
    alu[$0, --, B, t]
    scratch[bit_wr, $0, place, 0, test_and_set_bits], ctx_swap
    alu[t, --, B, $0]
    br_bset[t, 0, turn#]
    ctx_arb[inter_thread]
turn#:
    ; The turn comes with the number of the next element, and the first that was to leave when one asked for it
    ; last. The word is for a later packet then. The scratchpad serves commands in their order: one wait is for both.
    alu[t, number, +, 1]
    turn_of(after, t)
    alu[$0, --, ~B, 0]
    scratch[read, $1, after, 0, TAKEN]
    scratch[bit_wr, $0, place, 0, test_and_clear_bits], ctx_swap
    alu[t, --, B, $0]
    alu_shf[out, 31, AND, t, >>16]
    alu_shf[known, --, B, t, >>24]
    ; An earlier packet may have taken an element for it, and then the turn is not its own.
    br_bset[t, 2, last#]
piece#:
    alu[limit, out, +, 1]
    alu[--, limit, -, TRANSMIT_ELEMENTS]
    br!=0[inside#]
    immed[limit, 0]
inside#:
    ; An element stays free, so that those that were taken have not come round to the first that is to leave.
    alu[--, limit, -, known]
    br!=0[free#]
    csr[read, $0, xmit_ptr], ctx_swap
    alu[known, --, B, $0]
    br[inside#]
free#:
    ; 64 bytes, or the rest: then it takes elements for the next packets that wait, and the one after them has the turn
    ; while these are filled. A packet with further outputs keeps it.
    immed[n, 64]
    alu[--, n, -, bytes]
    br!=cout[long#]
    immed[w, 0]
    br_bset[control, 17, keeps#]
    take_next($1)
    take_next($2)
    take_next($3)
    take_next($4)
    take_next($5)
    take_next($6)
last_taken#:
    turn_of(place, after)
    br[pass#]
keeps#:
    turn_of(place, number)
pass#:
    alu_shf[u, limit, OR, known, <<8]
    ; All wait for the packet that gets the turn, so it waits but once: the scratchpad serves commands in their order.
    pass_turn(place, t, u)
    wake_next($1)
    wake_next($2)
    wake_next($3)
    wake_next($4)
    wake_next($5)
    wake_next($6)
last#:
    alu[n, --, B, bytes]
    immed[mask, 256]
    alu[control, control, OR, mask]
long#:
    alu[bytes, bytes, -, n]
    immed[g, 0]
    alu[--, --, B, n]
    br=0[control#]
group#:
    br_bset[parity, 0, odd#]
    alu[p0, --, B, $$0]
    alu[p1, --, B, $$1]
    alu[p2, --, B, $$2]
    alu[p3, --, B, $$3]
    alu[p4, --, B, $$4]
    br[even#]
odd#:
    alu[p0, --, B, $$1]
    alu[p1, --, B, $$2]
    alu[p2, --, B, $$3]
    alu[p3, --, B, $$4]
    alu[p4, --, B, $$5]
even#:
    alu[quad, quad, +, 2]
    sdram[read, $$0, base, quad, 3], sig_done
    align($0, p0, p1)
    align($1, p1, p2)
    align($2, p2, p3)
    align($3, p3, p4)
    alu_shf[place, g, OR, out, <<3]
    t_fifo_wr[$0, place, 0, 2], sig_done
    ctx_arb[sdram, fbi]
    alu[g, g, +, 2]
    alu_shf[t, --, B, g, <<3]
    alu[--, t, -, n]
    br!=cout[group#]
control#:
    alu[t, control, OR, n]
    alu[$0, --, B, t]
    alu[$1, --, B, number]
    immed[place, 128]
    alu[place, place, +, out]
    t_fifo_wr[$0, place, 0, 1], ctx_swap
    fast_wr[out, xmit_validate]
    alu[out, --, B, limit]
    ; Not the first any more.
    immed[mask, 128]
    alu[control, control, AND~, mask]
    br_bclr[control, 8, piece#]
    .end
