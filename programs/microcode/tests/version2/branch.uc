; Branches of version 2: on overflow, and with as many deferred instructions as there can be.
#include "test.inc"
.reg x y z n
    immed32[x, 0x7fffffff]
    immed[y, 1]
    alu[--, x, -, y]
    br_bvs[wrong1#]
    br_bvc[none#]
wrong1#:
    fail(1)
none#:
    alu[--, x, +, y]
    br_bvc[wrong2#]
    br_bvs[over#]
wrong2#:
    fail(2)
over#:
    ; A sum with one byte of B.
    immed32[x, 0x10000]
    immed32[y, 0xabcdef12]
    alu[z, x, +8, y]
    expect(3, z, 0x10012)
    ; Two are deferred after br, three after a branch on a condition.
    immed[n, 0]
    br[two#], defer[2]
    alu[n, n, +, 1]
    alu[n, n, +, 1]
    alu[n, n, +, 1]
two#:
    expect(4, n, 2)
    immed[n, 0]
    alu[--, n, -, 1]
    br!=0[three#], defer[3]
    alu[n, n, +, 1]
    alu[n, n, +, 1]
    alu[n, n, +, 1]
    alu[n, n, +, 1]
three#:
    expect(5, n, 3)
    ; The names of other documents.
    alu[--, n, -, 3]
    bne[wrong6#]
    beq[equal#]
wrong6#:
    fail(6)
equal#:
    alu[--, n, -, 4]
    bpl[wrong7#]
    bmi[minus#]
wrong7#:
    fail(7)
minus#:
    ; A borrow: no carry.
    bcs[wrong8#]
    bhs[wrong8#]
    bcc[lower#]
wrong8#:
    fail(8)
lower#:
    blo[less#]
    fail(9)
less#:
    bge[wrong10#]
    blt[at_most#]
wrong10#:
    fail(10)
at_most#:
    bgt[wrong11#]
    bvs[wrong11#]
    bvc[last#]
wrong11#:
    fail(11)
last#:
    ble[good_end#]
    fail(12)
good_end#:
    pass()
