; Atomic operations of SRAM and scratchpad, addresses in bytes, DRAM, hashes, registers of the chip.
#include "test.inc"
.reg x z
.reg $a $b
.sig done other
#macro atomic(number, memory)
    immed[x, 100]
    alu[$a, --, B, 20]
    memory[write, $a, x, 0, 1], ctx_swap[done]
    memory[incr, --, x, 0]
    alu[$a, --, B, 5]
    memory[add, $a, x, 0], ctx_swap[done]
    alu[$a, --, B, 2]
    memory[test_and_add, $a, x, 0], ctx_swap[done]
    alu[z, --, B, $a]
    expect(number + 1, z, 26)
    alu[$a, --, B, 3]
    memory[swap, $a, x, 0], ctx_swap[done]
    alu[z, --, B, $a]
    expect(number + 2, z, 28)
    alu[$a, --, B, 12]
    memory[set, $a, x, 0], ctx_swap[done]
    alu[$a, --, B, 1]
    memory[test_and_clr, $a, x, 0], ctx_swap[done]
    alu[z, --, B, $a]
    expect(number + 3, z, 15)
    alu[$a, --, B, 4]
    memory[clr, $a, x, 0], ctx_swap[done]
    alu[$a, --, B, 16]
    memory[test_and_set, $a, x, 0], ctx_swap[done]
    memory[read, $b, x, 0, 1], ctx_swap[done]
    alu[z, --, B, $a]
    expect(number + 4, z, 10)
    alu[z, --, B, $b]
    expect(number + 5, z, 26)
#endm
    atomic(0, sram)
    atomic(10, scratch)
    .begin
    .reg $$a $$b $$c $$d
    immed[x, 800]
    immed[z, 77]
    alu[$$a, --, B, z]
    alu[$$b, z, +, 1]
    dram[write, $$a, x, 0, 1], ctx_swap[done]
    dram[read, $$c, x, 0, 1], ctx_swap[done]
    alu[z, --, B, $$d]
    expect(21, z, 78)
    .end
    .begin
    .reg $h0 $h1
    ; A key of 1 gives the multiplier, whatever it is: so does another one times 1.
    alu[$h0, --, B, 1]
    alu[$h1, --, B, 0]
    hash1_64[$h0], ctx_swap[done]
    alu[z, --, B, $h0]
    expect(22, z, 0x7f4a7c15)
    .end
    ; A register of the chip keeps what was written.
    alu[$a, --, B, 9]
    cap[write, $a, mailbox_3], ctx_swap[done]
    cap[read, $b, mailbox_3], ctx_swap[done]
    alu[z, --, B, $b]
    expect(23, z, 9)
    ; Two at a time.
    immed[x, 100]
    scratch[read, $a, x, 0, 1], sig_done[done]
    sram[read, $b, x, 0, 1], sig_done[other]
    ctx_arb[done, other]
    alu[x, --, B, $a]
    alu[z, x, -, $b]
    expect(24, z, 0)
    pass()
