; ---------------------------------------------------------------------------------------------
; A part of a chain: packets come from the context with the same number of the engine before, and go on to that of the
; next engine. Registers go to its next-neighbour registers. Signal 12 says that a packet has come, and signal 13, to
; the engine before, that the next one may.
;
; Each context has the number of a thread, with the frame and the buffer of that thread. A packet takes it along: who hands
; one over gets the number of the context that takes it, which that has put into its word of mail.
.reg entry
#macro frame_of_thread()
    alu_shf[frame, --, B, thread, <<FRAME_BITS]
    .begin
    .reg shifted
    alu_shf[shifted, --, B, thread, <<5]
    alu[frame, frame, +, shifted]
    .end
#endm

#ifdef WINDOW_BASE
; From the first word of the window's frame on, a multiple of eight, to the first one after it; pointer 1 is there.
#macro window_words(at, limit)
    .begin
    .reg to
    alu_shf[at, --, B, front, >>5]
    alu_shf[to, --, B, at, <<5]
    alu[to, to, +, *l$index0[1]]
    local_csr_wr[active_lm_addr_1, to]
    alu_shf[at, --, B, at, <<3]
    alu[limit, front, +, window]
    alu[limit, limit, +, 3]
    alu_shf[limit, --, B, limit, >>2]
    .end
#endm
#endif

#ifndef LAST_PART
hand_over#:
    .begin
    .reg at limit near own mail
#ifdef WINDOW_BASE
    alu[near, --, B, *l$index0[0]]
    br!=0[window_handed#]
    ; The window, 16 words at a time from a multiple of eight on. There are zeros after the longest one.
    window_words(at, limit)
hand_words#:
    alu[--, at, -, limit]
    br>=0[window_handed#]
    alu[$0, --, B, *l$index1++]
    alu[$1, --, B, *l$index1++]
    alu[$2, --, B, *l$index1++]
    alu[$3, --, B, *l$index1++]
    alu[$4, --, B, *l$index1++]
    alu[$5, --, B, *l$index1++]
    alu[$6, --, B, *l$index1++]
    alu[$7, --, B, *l$index1++]
    sram[write, $0, frame, at, 8], sig_done[s8]
    alu[at, at, +, 8]
    alu[$8, --, B, *l$index1++]
    alu[$9, --, B, *l$index1++]
    alu[$10, --, B, *l$index1++]
    alu[$11, --, B, *l$index1++]
    alu[$12, --, B, *l$index1++]
    alu[$13, --, B, *l$index1++]
    alu[$14, --, B, *l$index1++]
    alu[$15, --, B, *l$index1++]
    sram[write, $8, frame, at, 8], ctx_swap[s8]
    alu[at, at, +, 8]
    br[hand_words#]
window_handed#:
#endif
    give_far()
    ctx_arb[s13]
    own_context(own)
    alu[mail, own, +, 8]
    alu_shf[mail, --, B, mail, <<2]
    immed[own, MAIL]
    alu[mail, mail, +, own]
    scratch[read, $0, mail, 0, 1], ctx_swap[memory]
    alu[n$0, --, B, window]
    alu[n$1, --, B, front]
    alu[n$2, --, B, payload]
    alu[n$3, --, B, egress]
    alu[n$4, --, B, entry]
    alu[n$5, --, B, thread]
#ifdef WINDOW_BASE
    alu[n$6, --, B, near]
    alu[n$7, --, B, *l$index0[2]]
#endif
    give_near()
    local_csr_rd[active_ctx]
    immed[own, 0]
    alu_shf[mail, own, OR, 12, <<3]
    local_csr_wr[next_neighbor_signal, mail]
    alu[thread, --, B, $0]
    frame_of_thread()
    .end
#ifdef FIRST_PART
    br[receive#]
#endif
#endif

#ifndef FIRST_PART
receive#:
    .begin
    .reg at limit own
    own_context(own)
    immed[limit, MAIL]
    alu_shf[at, --, B, own, <<2]
    alu[at, at, +, limit]
    alu[$0, --, B, thread]
    scratch[write, $0, at, 0, 1], ctx_swap[memory]
    local_csr_rd[active_ctx]
    immed[own, 0]
    alu_shf[own, own, OR, 13, <<3]
    local_csr_wr[prev_neighbor_signal, own]
    ctx_arb[s12]
    alu[window, --, B, n$0]
    alu[front, --, B, n$1]
    alu[payload, --, B, n$2]
    alu[egress, --, B, n$3]
    alu[entry, --, B, n$4]
    alu[thread, --, B, n$5]
    frame_of_thread()
    take_near()
    take_far()
#ifdef WINDOW_BASE
    alu[*l$index0[2], --, B, n$7]
    alu[at, --, B, n$6]
    alu[*l$index0[0], --, B, at]
    br!=0[window_taken#]
    window_words(at, limit)
take_words#:
    alu[--, at, -, limit]
    br>=0[zeros_after#]
    sram[read, $0, frame, at, 8], sig_done[s8]
    alu[at, at, +, 8]
    sram[read, $8, frame, at, 8], ctx_swap[s8]
    alu[at, at, +, 8]
    alu[*l$index1++, --, B, $0]
    alu[*l$index1++, --, B, $1]
    alu[*l$index1++, --, B, $2]
    alu[*l$index1++, --, B, $3]
    alu[*l$index1++, --, B, $4]
    alu[*l$index1++, --, B, $5]
    alu[*l$index1++, --, B, $6]
    alu[*l$index1++, --, B, $7]
    alu[*l$index1++, --, B, $8]
    alu[*l$index1++, --, B, $9]
    alu[*l$index1++, --, B, $10]
    alu[*l$index1++, --, B, $11]
    alu[*l$index1++, --, B, $12]
    alu[*l$index1++, --, B, $13]
    alu[*l$index1++, --, B, $14]
    alu[*l$index1++, --, B, $15]
    br[take_words#]
zeros_after#:
    immed[limit, 368]
    alu[limit, limit, -, at]
zero_words#:
    alu[limit, limit, -, 8]
    br<0[window_taken#]
    alu[*l$index1++, --, B, 0]
    alu[*l$index1++, --, B, 0]
    alu[*l$index1++, --, B, 0]
    alu[*l$index1++, --, B, 0]
    alu[*l$index1++, --, B, 0]
    alu[*l$index1++, --, B, 0]
    alu[*l$index1++, --, B, 0]
    alu[*l$index1++, --, B, 0]
    br[zero_words#]
window_taken#:
#endif
    .end
#endif
