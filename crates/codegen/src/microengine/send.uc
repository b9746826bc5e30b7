    ; In the order in which packets came (thread.uc: `turn_of`).
    sram[read, $0, frame, 0, 1], ctx_swap
    alu[number, --, B, $0]
    alu[bytes, payload, +, window]
    br_bclr[control, 19, all_bytes#]
    immed[bytes, 0]
all_bytes#:
    ; Who comes after it: a packet with further outputs keeps the turn.
    alu_shf[t, 1, AND, control, >>17]
    alu[t, 1, -, t]
    alu[w, number, +, t]
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
    sdram[read, $$0, base, quad, 3], ctx_swap
    turn_of(place, number)
    ; Waits: bit 1 and the thread. Bit 0 in what was there: its turn has come already.
    alu_shf[t, 2, OR, thread, <<8]
    alu[$0, --, B, t]
    scratch[bit_wr, $0, place, 0, test_and_set_bits], ctx_swap
    alu[t, --, B, $0]
    br_bset[t, 0, turn#]
    ctx_arb[inter_thread]
turn#:
    ; The turn comes with the number of the next element, and the first that was to leave when one asked for it
    ; last. The word is for a later packet then.
    scratch[read, $0, place, 0, 1], ctx_swap
    alu[t, --, B, $0]
    alu_shf[out, 31, AND, t, >>16]
    alu_shf[known, --, B, t, >>24]
    alu[$7, --, B, 0]
    scratch[write, $7, place, 0, 1]
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
    ; 64 bytes, or the rest: then the next packet may take elements while these are filled.
    immed[n, 64]
    alu[--, n, -, bytes]
    br!=cout[long#]
    alu[n, --, B, bytes]
    immed[mask, 256]
    alu[control, control, OR, mask]
    alu_shf[u, limit, OR, known, <<8]
    pass_turn(place, w, t, u)
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
#ifdef PARKS
    ; The packet may have come by another port than the one that is counted.
    sram[read, $0, frame, 1, 1], ctx_swap
    alu[$0, --, B, $0]
    immed[place, 144]
    alu[place, place, +, out]
    t_fifo_wr[$0, place, 0, 1], ctx_swap
#endif
    fast_wr[out, xmit_validate]
    alu[out, --, B, limit]
    ; Not the first any more.
    immed[mask, 128]
    alu[control, control, AND~, mask]
    br_bclr[control, 8, piece#]
    .end
