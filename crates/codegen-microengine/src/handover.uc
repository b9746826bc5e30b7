; ---------------------------------------------------------------------------------------------
; The packet goes on in another part: on the context of that part with the same thread.
.reg entry partner
hand_over#:
    .begin
    .reg place
    alu[$0, --, B, window]
    alu[$1, --, B, front]
    alu[$2, --, B, payload]
    alu[$3, --, B, egress]
    alu[$4, --, B, control]
    alu[$5, --, B, entry]
    immed[place, STATE]
    sram[write, $0, frame, place, 6], ctx_swap
    alu[partner, thread, +, partner]
#ifdef VERSION_2
    cap[fast_wr, partner, inter_thd_sig]
#else
    fast_wr[partner, inter_thd_sig]
#endif
wait#:
#ifdef VERSION_2
    ctx_arb[s4]
#else
    ctx_arb[inter_thread]
#endif
    immed[place, STATE]
    sram[read, $0, frame, place, 6], ctx_swap
    alu[window, --, B, $0]
    alu[front, --, B, $1]
    alu[payload, --, B, $2]
    alu[egress, --, B, $3]
    alu[control, --, B, $4]
    alu[entry, --, B, $5]
    .end
