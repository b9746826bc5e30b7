; Frames of at most 64 bytes cross from each port to its neighbour: 0 to 1 and 1 to 0, 2 to 3 and so
; on. Longer frames are dropped. cross.toml says which engines run it:
;
;     wireloom run programs/microcode/cross.toml --on ixp1200 --in A.pcap --out B.pcapng
;
; Each of sixteen contexts has its own element of the receive FIFO, and puts a packet into the
; element of the transmit FIFO whose number is that of the packet modulo 16.

.version 1
.import_var PORT_MASK

; First and last of its packet; dropped, with reason 0.
#define WHOLE 0x180
#define DROPPED (2 << 18)

; Four quad words of the element of the receive FIFO to that of the transmit FIFO.
#macro copy(quad)
    r_fifo_rd[$w0, fifo, quad, 4], ctx_swap
    alu[$w0, --, B, $w0]
    alu[$w1, --, B, $w1]
    alu[$w2, --, B, $w2]
    alu[$w3, --, B, $w3]
    alu[$w4, --, B, $w4]
    alu[$w5, --, B, $w5]
    alu[$w6, --, B, $w6]
    alu[$w7, --, B, $w7]
    t_fifo_wr[$w0, out, quad, 4], ctx_swap
#endm

.reg wanted fifo status_at bytes control number
.reg $w0 $w1 $w2 $w3 $w4 $w5 $w6 $w7

    ; The request: port, element in bits 11 to 8, thread from bit 16 on.
    .begin
    .reg engine context thread mask
    local_csr_rd[me_number]
    immed[engine, 0]
    local_csr_rd[active_ctx]
    immed[context, 0]
    alu_shf[thread, context, OR, engine, <<2]
    immed32[mask, PORT_MASK]
    alu[wanted, thread, AND, mask]
    alu_shf[wanted, wanted, OR, thread, <<8]
    alu_shf[wanted, wanted, OR, thread, <<16]
    alu_shf[fifo, --, B, thread, <<3]
    immed[status_at, 128]
    alu[status_at, status_at, +, thread]
    .end

receive#:
    fast_wr[wanted, rcv_req]
    ctx_arb[start_receive]
    r_fifo_rd[$w0, status_at, 0, 1], ctx_swap
    alu[control, --, B, $w0]
    alu[number, --, B, $w1]
    ; The status stays in the FBI until it is taken.
    csr[read, $w0, rcv_cntl], ctx_swap
    .begin
    .reg mask
    immed[mask, 0x7f]
    alu[bytes, control, AND, mask]
    .end
    br_bset[control, 8, cross#]

    ; Not the last MPKT of its packet: take all, drop the packet.
rest#:
    fast_wr[wanted, rcv_req]
    ctx_arb[start_receive]
    csr[read, $w0, rcv_cntl], ctx_swap
    alu[control, --, B, $w0]
    br_bclr[control, 8, rest#]
    immed[bytes, 0]
    immed[control, DROPPED]
    br[send#]

cross#:
    .begin
    .reg port
    alu_shf[port, 31, AND, control, >>12]
    alu[port, port, XOR, 1]
    alu_shf[control, --, B, port, <<12]
    .end

send#:
    .begin
    .reg whole element out ahead
    immed[whole, WHOLE]
    alu[control, control, OR, whole]
    alu[control, control, OR, bytes]
    ; The element is free when the packet 16 before this one has left.
    .repeat
        csr[read, $w0, xmit_sequence], ctx_swap
        alu[ahead, number, -, $w0]
    .until_unsigned (ahead < 16)
    alu[element, 15, AND, number]
    alu_shf[out, --, B, element, <<3]
    copy(0)
    copy(4)
    alu[$w0, --, B, control]
    alu[$w1, --, B, number]
    immed[out, 128]
    alu[out, out, +, element]
    t_fifo_wr[$w0, out, 0, 1], ctx_swap
    fast_wr[element, xmit_validate]
    .end
    br[receive#]
