; A word of the packet from two words of the buffer.
#macro align(to, high, low)
    alu[--, left, OR, 0]
    alu_shf[t, --, B, high, <<indirect]
    alu_shf[u, --, B, low, >>1]
    alu[--, right, OR, 0]
    alu_shf[to, t, OR, u, >>indirect]
#endm

; ---------------------------------------------------------------------------------------------
#ifdef EMITS
; The packet leaves by its egress port, and the thread goes on.
emit#:
    immed[control, 1]
    br[egress#]
#endif
; The packet leaves by its egress port.
finish#:
#ifdef EMITS
    immed[control, 0]
egress#:
#endif
    ; The port is in three parts: five bits, four, and seven.
    .begin
    .reg part
    alu_shf[part, --, B, egress, <<27]
#ifdef EMITS
    alu_shf[control, --, B, control, <<17]
    alu_shf[control, control, OR, part, >>15]
#else
    alu_shf[control, --, B, part, >>15]
#endif
    alu_shf[part, 15, AND, egress, >>5]
    alu_shf[control, control, OR, part, <<20]
    alu_shf[part, --, B, egress, >>9]
    alu_shf[control, control, OR, part, <<24]
    .end
; The packet ends with the way and the reason in `control`.
end#:
    .begin
    .reg g limit w place number bytes n mask out quad parity left right p0 p1 p2 p3 p4 t u base row known near
    .reg after
#ifdef VERSION_2
    .reg number_after counter base_of_mail
#endif
    alu[row, thread, AND, 3]
    alu_shf[row, --, B, row, <<8]
    alu_shf[base, row, OR, thread, <<14]
#ifdef WINDOW_BASE
    ; `near` is 1 if all bytes are in local memory: they leave from there.
    immed[near, 0]
#endif
    br_bset[control, 19, no_bytes#]
#ifdef WINDOW_BASE
    alu[--, --, B, *l$index0[0]]
    br!=0[from_frame#]
    immed[near, 1]
    alu[--, --, B, payload]
    br=0[no_bytes#]
    immed[near, 0]
    alu_shf[g, --, B, front, >>5]
    alu_shf[g, --, B, g, <<2]
    alu_shf[w, --, B, g, <<3]
    alu[w, w, +, *l$index0[1]]
    local_csr_wr[active_lm_addr_1, w]
    alu[limit, front, +, window]
    alu[limit, limit, +, 7]
    alu_shf[limit, --, B, limit, >>3]
back_near#:
    alu[--, g, -, limit]
    br>=0[no_bytes#]
    alu[$$0, --, B, *l$index1++]
    alu[$$1, --, B, *l$index1++]
    alu[$$2, --, B, *l$index1++]
    alu[$$3, --, B, *l$index1++]
    alu[$$4, --, B, *l$index1++]
    alu[$$5, --, B, *l$index1++]
    alu[$$6, --, B, *l$index1++]
    alu[$$7, --, B, *l$index1++]
    sdram[write, $$0, base, g, 4], ctx_swap
    alu[g, g, +, 4]
    br[back_near#]
from_frame#:
#endif
    ; The window goes back into the buffer, in pieces of 4 granules.
    alu_shf[g, --, B, front, >>5]
    alu_shf[g, --, B, g, <<2]
    alu[limit, front, +, window]
    alu[limit, limit, +, 7]
    alu_shf[limit, --, B, limit, >>3]
#ifdef VERSION_2
back#:
    alu[--, g, -, limit]
    br>=0[no_bytes#]
    alu_shf[w, --, B, g, <<1]
    sram[read, $0, frame, w, 8], ctx_swap
    alu[$$0, --, B, $0]
    alu[$$1, --, B, $1]
    alu[$$2, --, B, $2]
    alu[$$3, --, B, $3]
    alu[$$4, --, B, $4]
    alu[$$5, --, B, $5]
    alu[$$6, --, B, $6]
    alu[$$7, --, B, $7]
    sdram[write, $$0, base, g, 4], ctx_swap
    alu[g, g, +, 4]
    br[back#]
#else
    alu[--, g, -, limit]
    br>=0[no_bytes#]
    alu_shf[w, --, B, g, <<1]
    sram[read, $0, frame, w, 8], ctx_swap
back#:
    alu[$$0, --, B, $0]
    alu[$$1, --, B, $1]
    alu[$$2, --, B, $2]
    alu[$$3, --, B, $3]
    alu[$$4, --, B, $4]
    alu[$$5, --, B, $5]
    alu[$$6, --, B, $6]
    alu[$$7, --, B, $7]
    ; The next piece comes while this one goes; after the last one, the number of the packet.
    alu[quad, --, B, g]
    alu[w, w, +, 8]
    alu[g, g, +, 4]
    alu[--, g, -, limit]
    br>=0[last_back#]
    sdram[write, $$0, base, quad, 4], sig_done
    sram[read, $0, frame, w, 8], sig_done
    ctx_arb[sdram, sram]
    br[back#]
last_back#:
    sdram[write, $$0, base, quad, 4], sig_done
    sram[read, $0, frame, 0, 1], sig_done
    ctx_arb[sdram, sram]
    br[numbered#]
#endif
no_bytes#:
