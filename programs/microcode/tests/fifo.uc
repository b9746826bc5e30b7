; r_fifo_rd, t_fifo_wr: the receive FIFO, in which nothing has come, gives zeros.
#include "test.inc"
.reg x z $d0 $d1
    immed[x, 8]
    alu[$d0, --, B, x]
    alu[$d1, --, B, x]
    t_fifo_wr[$d0, x, 0, 1], ctx_swap
    r_fifo_rd[$d0, x, 0, 1], ctx_swap
    alu[z, --, B, $d0]
    expect(1, z, 0)
    pass()
