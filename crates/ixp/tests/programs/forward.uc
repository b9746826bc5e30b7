; Sends every packet, of any length, from port p to port p xor 1. A packet whose first byte is 0xdd
; is dropped with reason 2, one with 0xcc goes to the processor core with reason 1.
;
; Each context serves the port of its number. Packets leave in the order in which they came: a
; context waits until all packets before its own have left.
.version 1
.reg thread engine port wanted element fifo status number out control mask pointer at first way byte
.reg $w0 $w1 $w2 $w3 $w4 $w5 $w6 $w7

    local_csr_rd[me_number]
    immed[engine, 0]
    local_csr_rd[active_ctx]
    immed[thread, 0]
    alu_shf[thread, thread, OR, engine, <<2]
    immed[mask, 3]
    alu[port, thread, AND, mask]
    alu_shf[wanted, port, OR, thread, <<8]
    alu_shf[wanted, wanted, OR, thread, <<16]
    alu_shf[fifo, --, B, thread, <<3]
    immed[status, 128]
    alu[status, status, +, thread]
    alu[out, port, XOR, 1]
    alu_shf[out, --, B, out, <<12]

receive#:
    fast_wr[wanted, rcv_req]
    ctx_arb[start_receive]
    r_fifo_rd[$w0, status, 0, 1], ctx_swap
    alu[control, --, B, $w0]
    alu[number, --, B, $w1]
    csr[read, $w0, rcv_cntl], ctx_swap
    ; Bytes, first and last are those of the MPKT that came.
    immed[mask, 0x1ff]
    alu[control, control, AND, mask]

    ; What becomes of the packet is in its first byte.
    r_fifo_rd[$w0, fifo, 0, 4], ctx_swap
    br_bclr[control, 7, begun#]
    alu[way, --, B, out]
    alu_shf[byte, --, B, $w0, >>24]
    immed[mask, 0xdd]
    alu[--, byte, -, mask]
    br!=0[kept#]
    immed[way, ((2 << 18) | (2 << 24))]
kept#:
    immed[mask, 0xcc]
    alu[--, byte, -, mask]
    br!=0[begun#]
    immed[way, ((1 << 18) | (1 << 24))]
begun#:
    alu[control, control, OR, way]

wait#:
    csr[read, $w0, xmit_sequence], ctx_swap
    alu[--, number, -, $w0]
    br!=0[wait#]
empty#:
    csr[read, $w0, xmit_validate], ctx_swap
    alu[--, --, B, $w0]
    br!=0[empty#]
    csr[read, $w0, xmit_ptr], ctx_swap
    alu[pointer, --, B, $w0]
    alu_shf[at, --, B, pointer, <<3]
    r_fifo_rd[$w0, fifo, 0, 4], ctx_swap
    alu[$w0, --, B, $w0]
    alu[$w1, --, B, $w1]
    alu[$w2, --, B, $w2]
    alu[$w3, --, B, $w3]
    alu[$w4, --, B, $w4]
    alu[$w5, --, B, $w5]
    alu[$w6, --, B, $w6]
    alu[$w7, --, B, $w7]
    t_fifo_wr[$w0, at, 0, 4], ctx_swap
    r_fifo_rd[$w0, fifo, 4, 4], ctx_swap
    alu[$w0, --, B, $w0]
    alu[$w1, --, B, $w1]
    alu[$w2, --, B, $w2]
    alu[$w3, --, B, $w3]
    alu[$w4, --, B, $w4]
    alu[$w5, --, B, $w5]
    alu[$w6, --, B, $w6]
    alu[$w7, --, B, $w7]
    t_fifo_wr[$w0, at, 4, 4], ctx_swap
    immed[mask, 128]
    alu[at, mask, +, pointer]
    alu[$w0, --, B, control]
    alu[$w1, --, B, number]
    t_fifo_wr[$w0, at, 0, 1], ctx_swap
    fast_wr[pointer, xmit_validate]
    br[receive#]
