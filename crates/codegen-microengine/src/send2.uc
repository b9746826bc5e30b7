    ; In the order in which packets came (thread.uc: `turn_of`). TURN is the byte of the scratchpad with the word that
    ; counts the elements of TBUF that were taken.
    number_of_packet(number)
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
    ; The elements of TBUF that it takes, and who comes after it: a packet with further outputs keeps the turn.
    immed[mask, 63]
    alu[n, bytes, +, mask]
    alu_shf[n, --, B, n, >>6]
    br!=0[elements#]
    immed[n, 1]
elements#:
    ; Its word says that it waits, whether it keeps the turn, its thread, and its elements.
    alu_shf[t, 1, AND, control, >>17]
    alu_shf[u, 2, OR, t, <<3]
#ifdef CHAIN
    .reg own
    own_context(own)
    alu_shf[u, u, OR, own, <<8]
#else
    alu_shf[u, u, OR, thread, <<8]
#endif
    alu_shf[u, u, OR, n, <<16]
    turn_of(place, number)
    immed[base_of_mail, MAIL]
    alu[$0, --, B, u]
    scratch[test_and_set, $0, place, 0], ctx_swap[memory]
    alu[u, --, B, $0]
    br_bset[u, 0, turn#]
    ctx_arb[s4]
    ; Its first element is in the mail of its thread, if an earlier packet took its elements; otherwise it is its turn.
#ifdef CHAIN
    alu_shf[u, --, B, own, <<2]
#else
    alu_shf[u, --, B, thread, <<2]
#endif
    alu[u, u, +, base_of_mail]
    alu[$0, --, B, 0]
    scratch[swap, $0, u, 0], ctx_swap[memory]
    alu[out, --, B, $0]
    br_bset[out, 31, taken#]
turn#:
    ; It takes its own elements, and those of the next packets that wait already: nobody else does meanwhile.
    alu[number_after, number, +, 1]
    turn_of(after, number_after)
    immed[counter, TURN]
    scratch[read, $0, after, 0, TAKEN], sig_done[s8]
    scratch[read, $8, counter, 0, 1], sig_done[memory]
    ctx_arb[memory, s8]
    alu[out, --, B, $8]
    alu[w, --, B, out]
    alu[w, w, +, n]
    alu[$9, --, B, 1]
    alu[$10, --, B, 0]
    br_bset[control, 17, keeps#]
    scratch[write, $10, place, 0, 1]
    take_next($0, place, keeps#)
    take_next($1, place, keeps#)
    take_next($2, place, keeps#)
    take_next($3, place, keeps#)
    take_next($4, place, keeps#)
    take_next($5, place, keeps#)
    take_next($6, place, keeps#)
last_taken#:
    ; All wait for the packet that gets the turn, so it waits but once: the scratchpad serves commands in their order.
    alu[$8, --, B, w]
    scratch[write, $8, counter, 0, 1]
    pass_turn(place, number_after, t)
    br[wake#]
keeps#:
    ; A packet with further outputs keeps the turn.
    alu[$8, --, B, w]
    scratch[write, $8, counter, 0, 1]
    scratch[write, $9, place, 0, 1], ctx_swap[memory]
    br_bset[control, 17, taken#]
wake#:
    wake_next($0)
    wake_next($1)
    wake_next($2)
    wake_next($3)
    wake_next($4)
    wake_next($5)
    wake_next($6)
taken#:
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
#ifdef WINDOW_BASE
    br_bclr[near, 0, piece#]
    alu[t, front, +, *l$index0[1]]
    local_csr_wr[active_lm_addr_1, t]
    nop
    nop
    nop
    alu[p4, --, B, *l$index1++]
#endif
piece#:
    ; The element is free when the one before it in the same place has left: tx_sequence is at byte 16.
    msf[read, $0, 16, 0, 1], ctx_swap[memory]
    alu[t, out, -, $0]
    alu_shf[t, --, B, t, <<8]
    immed[u, TBUF_ELEMENTS]
    alu_shf[counter, --, B, u, <<8]
    alu[--, t, -, counter]
    br=cout[piece#]
    alu[u, u, -, 1]
    alu[limit, out, AND, u]
    alu[--, --, B, bytes]
    br=0[control#]
    immed[g, 0]
group#:
#ifdef WINDOW_BASE
    br_bclr[near, 0, stored#]
    alu[p0, --, B, p4]
    alu[p1, --, B, *l$index1++]
    alu[p2, --, B, *l$index1++]
    alu[p3, --, B, *l$index1++]
    alu[p4, --, B, *l$index1++]
    br[even#]
stored#:
#endif
    ; Four words: three quad words of the buffer.
    sdram[read, $$0, base, quad, 3], ctx_swap
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
    align($0, p0, p1)
    align($1, p1, p2)
    align($2, p2, p3)
    align($3, p3, p4)
    immed[place, 0x2000]
    alu_shf[place, place, OR, limit, <<6]
    alu_shf[n, --, B, g, <<3]
    msf[write, $0, place, n, 4], ctx_swap[memory]
    alu[quad, quad, +, 2]
    alu[g, g, +, 2]
    ; Up to 64 bytes, or the last one.
    alu[--, g, -, 8]
    br=0[control#]
    alu_shf[n, --, B, g, <<3]
    alu[--, n, -, bytes]
    br!=cout[group#]
control#:
    ; 64 bytes, or the rest.
    immed[n, 64]
    alu[--, n, -, bytes]
    br!=cout[long#]
    alu[n, --, B, bytes]
    immed[mask, 256]
    alu[control, control, OR, mask]
long#:
    alu[bytes, bytes, -, n]
    alu[t, control, OR, n]
    alu[$0, --, B, t]
    alu[$1, --, B, number]
    immed[place, 0x1000]
    alu_shf[place, place, OR, limit, <<3]
    msf[write, $0, place, 0, 2], ctx_swap[memory]
    alu[out, out, +, 1]
    ; Not the first any more.
    immed[mask, 128]
    alu[control, control, AND~, mask]
    br_bclr[control, 8, piece#]
    .end
