    ; In the order in which packets came.
    sram[read, $0, frame, 0, 1], ctx_swap
    alu[number, --, B, $0]
    alu[bytes, payload, +, window]
    br_bclr[control, 19, all_bytes#]
    immed[bytes, 0]
all_bytes#:
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
turn#:
    csr[read, $0, xmit_sequence], ctx_swap
    alu[--, number, -, $0]
    br!=0[turn#]
piece#:
    csr[read, $0, xmit_validate]
    csr[read, $1, xmit_ptr], ctx_swap
    alu[--, --, B, $0]
    br!=0[piece#]
    alu[out, --, B, $1]
    immed[g, 0]
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
    alu[--, g, -, 8]
    br!=0[group#]
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
    ; Not the first any more.
    immed[mask, 128]
    alu[control, control, AND~, mask]
    br_bclr[control, 8, piece#]
    .end
