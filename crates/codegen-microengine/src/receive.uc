; ---------------------------------------------------------------------------------------------
; Receiving, sending and ending, in the first part.
;
; A thread has a frame in SRAM (512 words or more from word 0 on) and a buffer in SDRAM (128 KB), of which the first
; 0 to 3 rows of 2 KB are left free: so threads use different banks. A packet lies from byte 1,344 after them on. Its
; first 128 bytes are not there but in the frame, at the same place, until it leaves. The first words of the frame are
; its number, its port, and the jumps back so far. PORT_MASK is the number of ports less 1.
;
; The receive FIFO has 16 elements. Threads n and n + 16 share element n: a thread has it until its packet is there. The
; first one has it at the start. A word of the scratchpad has bit 0 if the element is free, and bit 1 or 2 if the
; first or the second thread waits for it. Both set bits and see those before at once. Who gives the element back
; signals the other thread if it waits; if both want it while it is free, the one that said so first has it.
#ifdef SHARED_ELEMENTS
; The word of the thread's element, the thread's bit in it, and the other one's. Branches if the element is its own.
#macro element_of(word, mine, other, own)
    immed[word, 15]
    alu[word, word, AND, thread]
    alu[--, word, -, SHARED_ELEMENTS]
    br>=0[own]
    immed[mine, MAIL]
    alu[word, word, +, mine]
    alu_shf[mine, 1, AND, thread, >>4]
    alu[mine, mine, +, 1]
    alu_shf[mine, --, B, mine, <<1]
    alu[other, 6, -, mine]
#endm

start#:
    br_bclr[thread, 4, own#]
receive#:
    .begin
    .reg word mine other before
    element_of(word, mine, other, own#)
    alu[$0, --, B, mine]
    scratch[bit_wr, $0, word, 0, test_and_set_bits], ctx_swap
    alu[before, --, B, $0]
    br_bclr[before, 0, taken#]
    alu[--, before, AND, other]
    br!=0[taken#]
    alu[$0, 1, OR, mine]
    scratch[bit_wr, $0, word, 0, clear_bits], ctx_swap
    br[own#]
taken#:
    ctx_arb[inter_thread]
    .end
own#:
#else
start#:
receive#:
#endif
    immed[window, 0]
    immed[payload, 0]
    immed[egress, 0]
    immed[front, 1344]
    .begin
    .reg wanted ports element mask status bytes more fifo at word place number base
    immed32[ports, PORT_MASK]
    alu[wanted, thread, AND, ports]
    alu_shf[wanted, wanted, OR, thread, <<16]
    immed[ports, 15]
    alu[element, ports, AND, thread]
    alu_shf[fifo, --, B, element, <<8]
    alu[wanted, wanted, OR, fifo]
    alu_shf[fifo, --, B, element, <<3]
    immed[at, 168]
    alu[base, thread, AND, 3]
    alu_shf[base, --, B, base, <<8]
    alu_shf[base, base, OR, thread, <<14]
    immed[word, 336]
mpkt#:
    fast_wr[wanted, rcv_req]
    ctx_arb[start_receive]
    immed[place, 128]
    alu[place, place, +, element]
    r_fifo_rd[$0, place, 0, 1], ctx_swap
    alu[status, --, B, $0]
    alu[number, --, B, $1]
    ; This takes the status from its list: the FBI serves it before what comes next.
    csr[read, $0, rcv_cntl]
    immed[mask, 0x7f]
    alu[bytes, status, AND, mask]
    ; The first two MPKTs are the window.
    immed[mask, 368]
    alu[--, word, -, mask]
    br=cout[payload#]
    alu[window, window, +, bytes]
    ; The number, the port, and a count of jumps back go while the first half comes, and that while the second one does.
    alu[$0, --, B, number]
    alu_shf[number, --, B, status, >>12]
    alu[number, 31, AND, number]
    alu[$1, --, B, number]
    alu[$2, --, B, 0]
    sram[write, $0, frame, 0, 3], sig_done
    r_fifo_rd[$0, fifo, 0, 4], sig_done
    ctx_arb[sram, fbi]
    alu[$0, --, B, $0]
    alu[$1, --, B, $1]
    alu[$2, --, B, $2]
    alu[$3, --, B, $3]
    alu[$4, --, B, $4]
    alu[$5, --, B, $5]
    alu[$6, --, B, $6]
    alu[$7, --, B, $7]
    alu[place, fifo, +, 4]
    sram[write, $0, frame, word, 8], sig_done
    r_fifo_rd[$0, place, 0, 4], sig_done
    ctx_arb[sram, fbi]
    alu[word, word, +, 8]
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
    br[next_mpkt#]
payload#:
    ; Its bytes into the buffer: a granule is 8 bytes, a buffer 16,384 granules.
    alu[place, base, +, at]
    sdram[r_fifo_rd, --, fifo, place, 8], ctx_swap
    alu[more, --, B, bytes]
    alu[payload, payload, +, more]
next_mpkt#:
    alu[at, at, +, 8]
    br_bclr[status, 8, mpkt#]
#ifdef USES_ARRIVAL
    ; The time of arrival.
    immed[place, 144]
    alu[place, place, +, element]
    r_fifo_rd[$0, place, 0, 1], ctx_swap
    alu[$0, --, B, $0]
    alu[$1, --, B, $1]
    immed[place, ARRIVAL]
    sram[write, $0, frame, place, 2], ctx_swap
#endif
#ifdef SHARED_ELEMENTS
    ; The element is free.
    .begin
    .reg word mine other before
    element_of(word, mine, other, kept#)
    alu[$0, --, B, 1]
    scratch[bit_wr, $0, word, 0, test_and_set_bits], ctx_swap
    alu[before, --, B, $0]
    alu[--, before, AND, other]
    br=0[kept#]
    alu[$0, 1, OR, other]
    scratch[bit_wr, $0, word, 0, clear_bits], ctx_swap
    immed[before, 16]
    alu[before, before, XOR, thread]
    fast_wr[before, inter_thd_sig]
kept#:
    .end
#endif
    .end
    ; Behind the window there are zeros.
    clear_tail()
    br[begin#]
