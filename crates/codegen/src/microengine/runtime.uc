; ---------------------------------------------------------------------------------------------
; Receiving, sending and ending, in the first part.
;
; A thread has an element of the receive FIFO, a frame in SRAM (512 words from word 0 on) and a
; buffer in SDRAM (128 KB). A packet lies from byte 1,344 of its buffer on. While it is processed,
; its first 128 bytes are in the frame instead, at the same place. The first words of the frame are
; its number, its port, and the jumps back so far. PORT_MASK is the number of ports less 1.

; A word of the packet from two words of the buffer.
#macro align(to, high, low)
    alu[--, left, OR, 0]
    alu_shf[t, --, B, high, <<indirect]
    alu_shf[u, --, B, low, >>1]
    alu[--, right, OR, 0]
    alu_shf[to, t, OR, u, >>indirect]
#endm

receive#:
    immed[window, 0]
    immed[payload, 0]
    immed[egress, 0]
    immed[front, 1344]
    .begin
    .reg wanted ports mask status bytes more fifo at word to place number
    immed32[ports, PORT_MASK]
    alu[wanted, thread, AND, ports]
    alu_shf[wanted, wanted, OR, thread, <<8]
    alu_shf[wanted, wanted, OR, thread, <<16]
    alu_shf[fifo, --, B, thread, <<3]
    immed[at, 168]
    immed[word, 336]
mpkt#:
    fast_wr[wanted, rcv_req]
    ctx_arb[start_receive]
    immed[place, 128]
    alu[place, place, +, thread]
    r_fifo_rd[$0, place, 0, 1], ctx_swap
    alu[status, --, B, $0]
    alu[number, --, B, $1]
    csr[read, $0, rcv_cntl], ctx_swap
    ; Its bytes into the buffer: a granule is 8 bytes, a buffer 16,384 granules.
    alu_shf[place, at, OR, thread, <<14]
    sdram[r_fifo_rd, --, fifo, place, 8], ctx_swap
    immed[mask, 0x7f]
    alu[bytes, status, AND, mask]
    alu[at, at, +, 8]
    ; The first two are the window, and go into the frame as well.
    immed[mask, 368]
    alu[--, word, -, mask]
    br=cout[payload#]
    alu[window, window, +, bytes]
    immed[to, 0]
half#:
    alu[place, fifo, +, to]
    r_fifo_rd[$0, place, 0, 4], ctx_swap
    alu[$0, --, B, $0]
    alu[$1, --, B, $1]
    alu[$2, --, B, $2]
    alu[$3, --, B, $3]
    alu[$4, --, B, $4]
    alu[$5, --, B, $5]
    alu[$6, --, B, $6]
    alu[$7, --, B, $7]
    sram[write, $0, frame, word, 8], ctx_swap
    alu[word, word, +, 8]
    alu[to, to, +, 4]
    alu[--, to, -, 8]
    br!=0[half#]
    br[next_mpkt#]
payload#:
    alu[more, --, B, bytes]
    alu[payload, payload, +, more]
next_mpkt#:
    br_bclr[status, 8, mpkt#]
    ; The number, the port, and a count of jumps back.
    alu[$0, --, B, number]
    alu_shf[number, --, B, status, >>12]
    alu[number, 31, AND, number]
    alu[$1, --, B, number]
    alu[$2, --, B, 0]
    sram[write, $0, frame, 0, 3], ctx_swap
    .end
    ; Behind the window there are zeros.
    clear_tail()
    br[begin#]

; ---------------------------------------------------------------------------------------------
#ifdef EMITS
; The packet leaves by its egress port, and the thread goes on.
emit#:
    immed[control, 1]
    br[egress#]
#endif
; The packet leaves by its egress port.
finish#:
#ifdef EMITS
    immed[control, 0]
egress#:
#endif
    ; The port is in three parts: five bits, four, and seven.
    .begin
    .reg part
    alu_shf[part, --, B, egress, <<27]
#ifdef EMITS
    alu_shf[control, --, B, control, <<17]
    alu_shf[control, control, OR, part, >>15]
#else
    alu_shf[control, --, B, part, >>15]
#endif
    alu_shf[part, 15, AND, egress, >>5]
    alu_shf[control, control, OR, part, <<20]
    alu_shf[part, --, B, egress, >>9]
    alu_shf[control, control, OR, part, <<24]
    .end
; The packet ends with the way and the reason in `control`.
end#:
    .begin
    .reg g limit w place number bytes n mask out quad parity left right p0 p1 p2 p3 p4 t u
    br_bset[control, 19, no_bytes#]
    ; The window goes back into the buffer, in pieces of 4 granules.
    alu_shf[g, --, B, front, >>5]
    alu_shf[g, --, B, g, <<2]
    immed[limit, 184]
back#:
    ; A window without bytes may begin where the longest one ends.
    alu[--, g, -, limit]
    br>=0[no_bytes#]
    alu_shf[w, --, B, g, <<1]
    sram[read, $0, frame, w, 8], ctx_swap
    alu[$$0, --, B, $0]
    alu[$$1, --, B, $1]
    alu[$$2, --, B, $2]
    alu[$$3, --, B, $3]
    alu[$$4, --, B, $4]
    alu[$$5, --, B, $5]
    alu[$$6, --, B, $6]
    alu[$$7, --, B, $7]
    alu_shf[place, g, OR, thread, <<14]
    sdram[write, $$0, place, 0, 4], ctx_swap
    alu[g, g, +, 4]
    br[back#]
no_bytes#:
    ; In the order in which packets came.
    sram[read, $0, frame, 0, 1], ctx_swap
    alu[number, --, B, $0]
turn#:
    csr[read, $0, xmit_sequence], ctx_swap
    alu[--, number, -, $0]
    br!=0[turn#]
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
piece#:
    csr[read, $0, xmit_validate], ctx_swap
    alu[--, --, B, $0]
    br!=0[piece#]
    csr[read, $0, xmit_ptr], ctx_swap
    alu[out, --, B, $0]
    immed[g, 0]
group#:
    ; Four words: three quad words of the buffer.
    alu_shf[place, quad, OR, thread, <<14]
    sdram[read, $$0, place, 0, 3], ctx_swap
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
    alu_shf[place, g, OR, out, <<3]
    t_fifo_wr[$0, place, 0, 2], ctx_swap
    alu[quad, quad, +, 2]
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
    fast_wr[out, xmit_validate]
    ; Not the first any more.
    immed[mask, 128]
    alu[control, control, AND~, mask]
    br_bclr[control, 8, piece#]
    .end
#ifdef EMITS
    ; Bit 17: further outputs. The thread goes on at a step, or ends.
    br_bclr[control, 17, receive#]
    .begin
    .reg at
    immed[at, 186]
    sram[read, $0, frame, at, 1], ctx_swap
    alu[resume, --, B, $0]
    .end
    alu[control, --, B, resume]
    br_bset[control, 19, end#]
    br[resume#]
#else
    br[receive#]
#endif
