; An IPv4 forwarder for frames of at most 64 bytes on the IXP1200, written by hand.
;
; It forwards as programs/ipv4.loom does with COUNT_FLOWS=false, for untagged frames and next hops
; without labels and VLAN. A longer frame is dropped with the reason TOO_LONG.
;
; It runs on all contexts of engines 0 to 3: sixteen threads, each with its own element of the
; receive FIFO. A thread takes a packet of its port, looks up its addresses, and puts it into the
; element of the transmit FIFO whose number is that of the packet modulo 16. So packets leave in the
; order in which they came, and nothing has to be locked.
;
; include/ipv4.inc explains what the host supplies: PORTS, TRIE, NEXT_HOPS. Besides it supplies
;   PORT_MASK  the number of ports, a power of two, less 1

.version 1
.import_var PORT_MASK

; The control word of an MPKT that leaves: first and last of its packet.
#define WHOLE 0x180

; The header in words: Ethernet in h0 to h3, IPv4 from the middle of h3 to the middle of h8.
.reg h0 h1 h2 h3 h4 h5 h6 h7 h8
.reg bytes control number wanted fifo status_at
.reg $w0 $w1 $w2 $w3 $w4 $w5 $w6 $w7

#include "include/verdicts.inc"
#include "include/ipv4.inc"

; ---------------------------------------------------------------------------------------------
; Once: which port, which element.
    .begin
    .reg engine context thread port base mask
    local_csr_rd[me_number]
    immed[engine, 0]
    local_csr_rd[active_ctx]
    immed[context, 0]
    alu_shf[thread, context, OR, engine, <<2]
    immed32[mask, PORT_MASK]
    alu[port, thread, AND, mask]
    ; The request: port, element in bits 11 to 8, thread from bit 16 on.
    alu_shf[wanted, port, OR, thread, <<8]
    alu_shf[wanted, wanted, OR, thread, <<16]
    alu_shf[fifo, --, B, thread, <<3]
    immed[status_at, 128]
    alu[status_at, status_at, +, thread]
    immed32[base, PORTS]
    alu_shf[port, --, B, port, <<1]
    sram[read, $w0, base, port, 2], ctx_swap
    alu[mac_high, --, B, $w0]
    alu_shf[any_station, 1, AND, $w1, <<0]
    alu_shf[mac_low, $w1, AND~, 1, <<0]
    .end

; ---------------------------------------------------------------------------------------------
receive#:
    fast_wr[wanted, rcv_req]
    ctx_arb[start_receive]
    r_fifo_rd[$w0, status_at, 0, 1], ctx_swap
    .begin
    .reg mask
    alu[number, --, B, $w1]
    immed[mask, 0x7f]
    alu[bytes, $w0, AND, mask]
    alu[control, --, B, $w0]
    .end
    ; The status stays in the FBI until it is taken.
    csr[read, $w0, rcv_cntl], ctx_swap
    br_bset[control, 8, whole#]

    ; Not the last MPKT of its packet: take all, drop the packet.
rest#:
    fast_wr[wanted, rcv_req]
    ctx_arb[start_receive]
    csr[read, $w0, rcv_cntl], ctx_swap
    alu[control, --, B, $w0]
    br_bclr[control, 8, rest#]
    immed[bytes, 0]
    drop(TOO_LONG)

whole#:
    r_fifo_rd[$w0, fifo, 0, 4], ctx_swap
    alu[h0, --, B, $w0]
    alu[h1, --, B, $w1]
    alu[h2, --, B, $w2]
    alu[h3, --, B, $w3]
    alu[h4, --, B, $w4]
    alu[h5, --, B, $w5]
    alu[h6, --, B, $w6]
    alu[h7, --, B, $w7]
    r_fifo_rd[$w0, fifo, 4, 1], ctx_swap
    alu[h8, --, B, $w0]

#include "include/ipv4_forward.inc"

; ---------------------------------------------------------------------------------------------
; The packet leaves unchanged: its words are still in the receive FIFO.
transmit#:
    r_fifo_rd[$w0, fifo, 0, 4], ctx_swap
    alu[h0, --, B, $w0]
    alu[h1, --, B, $w1]
    alu[h2, --, B, $w2]
    alu[h3, --, B, $w3]
    alu[h4, --, B, $w4]
    alu[h5, --, B, $w5]
    alu[h6, --, B, $w6]
    alu[h7, --, B, $w7]

rewritten#:
    .begin
    .reg whole ahead element out
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
    alu[$w0, --, B, h0]
    alu[$w1, --, B, h1]
    alu[$w2, --, B, h2]
    alu[$w3, --, B, h3]
    alu[$w4, --, B, h4]
    alu[$w5, --, B, h5]
    alu[$w6, --, B, h6]
    alu[$w7, --, B, h7]
    t_fifo_wr[$w0, out, 0, 4], ctx_swap
    r_fifo_rd[$w0, fifo, 4, 4], ctx_swap
    alu[$w0, --, B, $w0]
    alu[$w1, --, B, $w1]
    alu[$w2, --, B, $w2]
    alu[$w3, --, B, $w3]
    alu[$w4, --, B, $w4]
    alu[$w5, --, B, $w5]
    alu[$w6, --, B, $w6]
    alu[$w7, --, B, $w7]
    t_fifo_wr[$w0, out, 4, 4], ctx_swap
    alu[$w0, --, B, control]
    alu[$w1, --, B, number]
    immed[out, 128]
    alu[out, out, +, element]
    t_fifo_wr[$w0, out, 0, 1], ctx_swap
    fast_wr[element, xmit_validate]
    .end
    br[receive#]
