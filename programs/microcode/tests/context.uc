; ctx_arb, br_!signal, fast_wr, csr, local_csr_rd, nop. For context 0 of engine 0.
#include "test.inc"
.reg x z $data $other
    ctx_arb[voluntary]
    nop
    local_csr_rd[me_number]
    immed[z, 0]
    expect(1, z, 0)
    ; A signal to itself.
    br_!signal[inter_thread, none#]
    fail(2)
none#:
    fast_wr[0, inter_thd_sig]
    ctx_arb[inter_thread]
    ; It is taken by the wait.
    br_!signal[inter_thread, taken#]
    fail(3)
taken#:
    fast_wr[0, inter_thd_sig]
    immed[x, 20]
wait#:
    alu[x, x, -, 1]
    br>0[wait#]
    br_!signal[inter_thread, late#]
    br[came#]
late#:
    fail(4)
came#:
    ; Registers of the FBI by transfer registers.
    immed32[x, 0xcafe0001]
    alu[$data, --, B, x]
    csr[write, $data, mailbox_3], ctx_swap
    csr[read, $other, mailbox_3], sig_done
    ctx_arb[fbi]
    alu[z, --, B, $other]
    expect(5, z, 0xcafe0001)
    ; Instructions that are deferred run before the context gives up the engine.
    immed[z, 0]
    csr[read, $other, mailbox_3], ctx_swap, defer[1]
    alu[z, z, +, 1]
    expect(6, z, 1)
    fast_wr[x, mailbox_3]
    csr[read, $other, mailbox_3], ctx_swap
    alu[z, --, B, $other]
    expect(7, z, 0xcafe0001)
    pass()
