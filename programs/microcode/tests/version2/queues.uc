; Queues of buffers in SRAM, by entries 5 and 6 of the Q_array. Addresses count words.
#include "test.inc"
.reg x y z entry
.reg $a $b $c
.sig done

; The address of a word for the entry.
#macro of_entry(word)
    immed[x, word]
    alu[x, x, OR, entry]
#endm
#macro taken(number, buffer)
    sram[dequeue, $a, entry, 0], ctx_swap[done]
    alu[z, --, B, $a]
    expect(number, z, buffer)
#endm

    ; A descriptor at word 100: a queue of buffers 200 and 210.
    immed[x, 200]
    alu[$a, --, B, x]
    immed[x, 210]
    alu[$b, --, B, x]
    immed[x, 2]
    alu[$c, --, B, x]
    immed[y, 400]
    sram[write, $a, y, 0, 3], ctx_swap[done]
    immed[x, 210]
    alu[$a, --, B, x]
    immed[y, 800]
    sram[write, $a, y, 0, 1], ctx_swap[done]
    immed32[entry, 0x05000000]
    of_entry(100)
    sram[rd_qdesc_head, $a, x, 0, 2], ctx_swap[done]
    alu[z, --, B, $b]
    expect(1, z, 210)
    sram[rd_qdesc_other, --, x, 0], ctx_swap[done]
    ; Two more, with their links: 220 after 210, and 230 after 220.
    of_entry(220)
    sram[enqueue, --, x, 0], ctx_swap[done]
    of_entry(230)
    sram[enqueue, --, x, 0], ctx_swap[done]
    immed[y, 840]
    sram[read, $a, y, 0, 1], ctx_swap[done]
    alu[z, --, B, $a]
    expect(2, z, 220)
    immed[y, 880]
    sram[read, $a, y, 0, 1], ctx_swap[done]
    alu[z, --, B, $a]
    expect(3, z, 230)
    of_entry(104)
    sram[wr_qdesc, --, x, 0], ctx_swap[done]
    immed[y, 416]
    sram[read, $a, y, 0, 3], ctx_swap[done]
    alu[z, --, B, $a]
    expect(4, z, 200)
    alu[z, --, B, $b]
    expect(5, z, 230)
    alu[z, --, B, $c]
    expect(6, z, 4)
    taken(7, 200)
    taken(8, 210)
    of_entry(104)
    sram[wr_qdesc_count, --, x, 0], ctx_swap[done]
    sram[read, $a, y, 0, 3], ctx_swap[done]
    alu[z, --, B, $a]
    expect(9, z, 200)
    alu[z, --, B, $c]
    expect(10, z, 2)
    taken(11, 220)
    taken(12, 230)
    taken(13, 0)
    ; A queue that was empty, and another entry that reads the descriptor from its tail.
    of_entry(260)
    sram[enqueue, --, x, 0], ctx_swap[done]
    of_entry(108)
    sram[wr_qdesc, --, x, 0], ctx_swap[done]
    immed32[entry, 0x06000000]
    of_entry(108)
    sram[rd_qdesc_tail, $a, x, 0, 1], ctx_swap[done]
    sram[rd_qdesc_other, --, x, 0], ctx_swap[done]
    of_entry(270)
    sram[enqueue, --, x, 0], ctx_swap[done]
    taken(15, 260)
    taken(16, 270)
    taken(17, 0)
    pass()
