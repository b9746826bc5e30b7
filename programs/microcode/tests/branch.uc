; Branches on condition codes, bits, bytes, contexts; defer slots; jump and rtn.
#include "test.inc"
.reg x y z

; A branch that must be taken, and one that must not.
#macro taken(number, branch)
    branch[past#]
    fail(number)
past#:
#endm
#macro not_taken(number, branch)
    branch[bad#]
    br[past#]
bad#:
    fail(number)
past#:
#endm

    taken(1, br)
    immed[x, 5]
    immed[y, 5]
    alu[--, x, -, y]
    taken(2, br=0)
    not_taken(3, br!=0)
    taken(4, br>=0)
    taken(5, br<=0)
    not_taken(6, br<0)
    not_taken(7, br>0)
    taken(8, br=cout)
    not_taken(9, br!=cout)
    alu[--, x, -, 6]
    taken(10, br!=0)
    taken(11, br<0)
    taken(12, br<=0)
    not_taken(13, br>=0)
    not_taken(14, br>0)
    taken(15, br!=cout)
    ; With an overflow: the greatest number less -1 is greater than 0.
    immed32[x, 0x7fffffff]
    immed[y, -1]
    alu[--, x, -, y]
    taken(16, br>0)
    taken(17, br>=0)
    not_taken(18, br<0)

    immed32[x, 0x00c30000]
    br_bset[x, 17, set#]
    fail(19)
set#:
    br_bclr[x, 18, clear#]
    fail(20)
clear#:
    br_bset[x, 18, wrong#]
    br_bclr[x, 17, wrong#]
    br=byte[x, 2, 0xc3, equal#]
    fail(21)
equal#:
    br!=byte[x, 1, 0xc3, unequal#]
    fail(22)
unequal#:
    br=byte[x, 2, 0xc2, wrong#]
    br!=byte[x, 2, 0xc3, wrong#]
    br[defer#]
wrong#:
    fail(23)

    ; As many instructions after a branch as it defers are executed.
defer#:
    immed[z, 0]
    br[one#], defer[1]
    alu[z, z, +, 1]
    alu[z, z, +, 16]
one#:
    expect(24, z, 1)
    alu[--, --, B, 0]
    br=0[two#], defer[2]
    alu[z, z, +, 1]
    alu[z, z, +, 1]
    alu[z, z, +, 16]
two#:
    expect(25, z, 3)
    br_bset[x, 16, three#], defer[2]
    alu[z, z, +, 1]
    alu[z, z, +, 1]
    alu[z, z, +, 16]
three#:
    expect(26, z, 5)
    ; Not taken: all are executed.
    br_bclr[x, 16, four#], defer[2]
    alu[z, z, +, 1]
    alu[z, z, +, 1]
    alu[z, z, +, 16]
four#:
    expect(27, z, 23)

    immed[y, 1]
    jump[y, table#]
    fail(28)
table#:
    br[bad_entry#]
    br[good_entry#]
bad_entry#:
    fail(29)
good_entry#:
    load_addr[y, home#]
    rtn[y], defer[1]
    immed[z, 7]
    fail(30)
home#:
    expect(31, z, 7)

    local_csr_rd[active_ctx]
    immed[y, 0]
    expect(32, y, 0)
    br=ctx[0, context#]
    fail(33)
context#:
    br!=ctx[1, other_context#]
    fail(34)
other_context#:
    br!=ctx[0, wrong_context#]
    br=ctx[1, wrong_context#]
    ; Nothing has filled the transmit FIFO.
    br_inp_state[tfifo_full, wrong_context#]
    pass()
wrong_context#:
    fail(35)
