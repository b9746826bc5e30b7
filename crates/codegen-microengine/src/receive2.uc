; ---------------------------------------------------------------------------------------------
; Receiving, sending and ending, in the first part, on version 2.
;
; A thread has a frame in SRAM (512 words or more from word 0 on) and a buffer in DRAM (128 KB). It puts itself
; on the list of threads that wait for MPKTs, and gets the status of one in $8 to $11. The place of a packet in its
; buffer begins at byte 1,344, after 0 to 3 rows (receive.uc). Its first 128 bytes are not there but in the frame, at the
; same place, or in local memory (window.rs), until it leaves. The first words of the frame are its number, its port,
; and the jumps back so far.

start#:
receive#:
    immed[window, 0]
    immed[payload, 0]
    immed[egress, 0]
    immed[front, 1344]
    .begin
    .reg mask status bytes more element fifo at word to place number base
#ifdef CHAIN
    .reg own
    own_context(own)
#endif
    immed[at, 168]
    alu[base, thread, AND, 3]
    alu_shf[base, --, B, base, <<8]
    alu_shf[base, base, OR, thread, <<14]
    immed[word, 336]
mpkt#:
    ; The signal, the first register, and the thread: context in bits 10 to 8, engine from 11 on.
    immed[place, ((8 << 4) | &arrived)]
#ifdef CHAIN
    alu_shf[place, place, OR, own, <<8]
#else
    alu_shf[place, place, OR, thread, <<8]
#endif
    msf[fast_wr, place, rx_thread_freelist_0]
    ctx_arb[arrived]
    alu[status, --, B, $8]
    alu[number, --, B, $9]
    immed[mask, 0x7f]
    alu_shf[element, mask, AND, status, >>24]
    alu_shf[fifo, --, B, element, <<6]
    alu[bytes, status, AND, mask]
    alu[at, at, +, 8]
    ; The first two MPKTs are the window.
    immed[mask, 368]
    alu[--, word, -, mask]
    br=cout[payload#]
    alu[window, window, +, bytes]
    immed[to, 0x2000]
    alu[fifo, fifo, +, to]
#ifdef WINDOW_BASE
    alu_shf[to, --, B, word, <<2]
    alu[to, to, +, *l$index0[1]]
    local_csr_wr[active_lm_addr_1, to]
#endif
    immed[to, 0]
half#:
    alu[place, fifo, +, to]
    msf[read, $0, place, 0, 8], ctx_swap[memory]
#ifdef WINDOW_BASE
    alu[*l$index1++, --, B, $0]
    alu[*l$index1++, --, B, $1]
    alu[*l$index1++, --, B, $2]
    alu[*l$index1++, --, B, $3]
    alu[*l$index1++, --, B, $4]
    alu[*l$index1++, --, B, $5]
    alu[*l$index1++, --, B, $6]
    alu[*l$index1++, --, B, $7]
#else
    alu[$0, --, B, $0]
    alu[$1, --, B, $1]
    alu[$2, --, B, $2]
    alu[$3, --, B, $3]
    alu[$4, --, B, $4]
    alu[$5, --, B, $5]
    alu[$6, --, B, $6]
    alu[$7, --, B, $7]
    sram[write, $0, frame, word, 8], ctx_swap
#endif
    alu[word, word, +, 8]
    immed[mask, 32]
    alu[to, to, +, mask]
    br_bclr[to, 6, half#]
    br[next_mpkt#]
payload#:
    ; Its bytes into the buffer: a granule is 8 bytes, a buffer 16,384 granules.
    alu[place, base, +, at]
    alu[place, place, -, 8]
    alu_shf[place, --, B, place, <<3]
    dram[rbuf_rd, --, fifo, place, 8], ctx_swap[memory]
    alu[more, --, B, bytes]
    alu[payload, payload, +, more]
next_mpkt#:
    msf[fast_wr, element, rbuf_element_done]
    br_bclr[status, 8, mpkt#]
    ; The number, the port, and a count of jumps back; the time of arrival.
    alu[$0, --, B, number]
#ifdef WINDOW_BASE
    alu[*l$index0[2], --, B, number]
#endif
    alu_shf[number, --, B, status, >>12]
    alu[number, 31, AND, number]
    alu[$1, --, B, number]
    alu[$2, --, B, 0]
    sram[write, $0, frame, 0, 3], ctx_swap
    alu[$0, --, B, $10]
    alu[$1, --, B, $11]
    immed[place, ARRIVAL]
    sram[write, $0, frame, place, 2], ctx_swap
    .end
    ; Behind the window there are zeros.
#ifdef WINDOW_BASE
    alu[*l$index0[0], --, B, 0]
    clear_local_tail()
#else
    clear_tail()
#endif
    br[begin#]

