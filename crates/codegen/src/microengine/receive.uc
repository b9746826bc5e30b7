; ---------------------------------------------------------------------------------------------
; Receiving, sending and ending, in the first part.
;
; A thread has an element of the receive FIFO, a frame in SRAM (512 words or more from word 0 on) and a
; buffer in SDRAM (128 KB), of which the first 0 to 3 rows of 2 KB are left free: so threads use different
; banks. A packet lies from byte 1,344 after them on. While it is processed, its first 128 bytes are in the
; frame instead, at the same place. The first words of the frame are
; its number, its port, and the jumps back so far. PORT_MASK is the number of ports less 1.

receive#:
    immed[window, 0]
    immed[payload, 0]
    immed[egress, 0]
    immed[front, 1344]
    .begin
    .reg wanted ports mask status bytes more fifo at word to place number base
    immed32[ports, PORT_MASK]
    alu[wanted, thread, AND, ports]
    alu_shf[wanted, wanted, OR, thread, <<8]
    alu_shf[wanted, wanted, OR, thread, <<16]
    alu_shf[fifo, --, B, thread, <<3]
    immed[at, 168]
    alu[base, thread, AND, 3]
    alu_shf[base, --, B, base, <<8]
    alu_shf[base, base, OR, thread, <<14]
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
    alu[place, base, +, at]
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
