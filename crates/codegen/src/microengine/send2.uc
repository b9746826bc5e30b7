    ; In the order in which packets came (thread.uc: `turn_of`). TURN is the byte of the scratchpad with the word that
    ; counts the elements of TBUF that were taken.
    sram[read, $0, frame, 0, 1], ctx_swap
    alu[number, --, B, $0]
    alu[bytes, payload, +, window]
    br_bclr[control, 19, all_bytes#]
    immed[bytes, 0]
all_bytes#:
    ; The elements of TBUF that it takes, and who comes after it: a packet with further outputs keeps the turn.
    immed[mask, 63]
    alu[n, bytes, +, mask]
    alu_shf[n, --, B, n, >>6]
    br!=0[elements#]
    immed[n, 1]
elements#:
    alu_shf[t, 1, AND, control, >>17]
    alu[t, 1, -, t]
    alu[u, number, +, t]
    turn_of(place, number)
    immed[w, TURN]
    ; Waits: bit 1 and the thread. Bit 0 in what was there: its turn has come already.
    alu_shf[t, 2, OR, thread, <<8]
    alu[$0, --, B, t]
    scratch[test_and_set, $0, place, 0], ctx_swap[memory]
    alu[t, --, B, $0]
    br_bset[t, 0, turn#]
    ctx_arb[s4]
turn#:
    ; All wait for the packet that has the turn, so it waits but once: the scratchpad serves commands in their
    ; order. The word is for a later packet then.
    alu[$0, --, B, 0]
    scratch[write, $0, place, 0, 1]
    alu[$1, --, B, n]
    scratch[test_and_add, $1, w, 0]
    pass_turn(place, u, t)
    alu[out, --, B, $1]
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
    immed[u, TBUF_ELEMENTS]
    alu[--, t, -, u]
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
#ifdef PARKS
    ; The packet may have come by another port than the one that is counted.
    sram[read, $0, frame, 1, 1], ctx_swap
    alu[$0, --, B, $0]
    immed[place, 0x1800]
    alu_shf[place, place, OR, limit, <<2]
    msf[write, $0, place, 0, 1], ctx_swap[memory]
#endif
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
