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
