#ifdef EMITS
    ; Bit 17: further outputs. The thread goes on at a step, or ends.
    br_bclr[control, 17, receive#]
    .begin
    .reg at
#ifdef PIECES
    .reg offset moved bytes
    immed[at, 187]
    sram[read, $0, frame, at, 1], ctx_swap
    alu_shf[offset, --, B, $0, >>16]
    alu[bytes, payload, +, window]
    alu[--, bytes, -, offset]
    br=cout[began#]
    alu[offset, --, B, bytes]
began#:
    alu[moved, --, B, offset]
    alu[front, front, -, moved]
    alu[$0, --, B, 0]
    sram[write, $0, frame, at, 1], ctx_swap
#endif
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
