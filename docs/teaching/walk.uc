; The labs about memory on ixp: each packet of at most 64 bytes leaves by the neighbour of its port,
; after READS reads of memory, each of which needs the word that the one before has read. The words
; are 0, so every thread reads around its own address, STRIDE bytes after that of the thread before.
;
; A program file (docs/machines/ixp.md) says which contexts run it; SDRAM=1 reads SDRAM instead of
; SRAM. The machine needs `ports.assignment = "any"`: all threads ask for port 0, and get a packet of
; any port.

.version 1
.import_var READS
.import_var STRIDE

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

.reg wanted fifo status_at bytes control number place
.reg $w0 $w1 $w2 $w3 $w4 $w5 $w6 $w7
.reg $$d0 $$d1

    ; The request: port 0, element in bits 11 to 8, thread from bit 16 on. `place` is the address of
    ; this thread: words of SRAM, 8 bytes of SDRAM.
    .begin
    .reg engine context thread stride turns
    local_csr_rd[me_number]
    immed[engine, 0]
    local_csr_rd[active_ctx]
    immed[context, 0]
    alu_shf[thread, context, OR, engine, <<2]
    alu_shf[wanted, --, B, thread, <<8]
    alu_shf[wanted, wanted, OR, thread, <<16]
    alu_shf[fifo, --, B, thread, <<3]
    immed[status_at, 128]
    alu[status_at, status_at, +, thread]
    immed32[stride, STRIDE]
    immed[place, 0]
    alu[turns, --, B, thread]
    .while (turns)
        alu[place, place, +, stride]
        alu[turns, turns, -, 1]
    .endw
#ifdef SDRAM
    alu_shf[place, --, B, place, >>3]
#else
    alu_shf[place, --, B, place, >>2]
#endif
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
    br_bset[control, 8, walk#]

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

walk#:
    .begin
    .reg at left
    alu[at, --, B, place]
    immed32[left, READS]
    .while (left)
#ifdef SDRAM
        sdram[read, $$d0, at, 0, 1], ctx_swap
        alu[at, at, +, $$d0]
#else
        sram[read, $w0, at, 0, 1], ctx_swap
        alu[at, at, +, $w0]
#endif
        alu[left, left, -, 1]
    .endw
    .end
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
