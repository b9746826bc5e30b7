; Instructions of version 2 that compute: bits, bytes, products, branches on the sign.
#include "test.inc"
.reg x y z
    immed32[x, 0x00f00100]
    ffs[z, x]
    expect(1, z, 8)
    pop_count[z, x]
    expect(2, z, 5)
    immed[x, 0]
    ffs[z, x]
    expect(3, z, 32)
    ; Four bytes out of two words, from byte 1 and 3 on.
    immed32[x, 0x11223344]
    immed32[y, 0x55667788]
    local_csr_wr[byte_index, 1]
    nop
    nop
    nop
    byte_align_be[--, x]
    byte_align_be[z, y]
    expect(4, z, 0x22334455)
    byte_align_le[--, x]
    byte_align_le[z, y]
    expect(5, z, 0x88112233)
    local_csr_wr[byte_index, 3]
    ; The write takes effect four cycles later.
    byte_align_be[--, x]
    byte_align_be[z, y]
    expect(6, z, 0x22334455)
    byte_align_be[--, x]
    byte_align_be[z, y]
    expect(7, z, 0x44556677)
    ; The other word is the operand of the instruction before, whatever that is: operand B for
    ; byte_align_be, operand A for byte_align_le.
    local_csr_wr[byte_index, 1]
    nop
    nop
    nop
    alu[--, --, B, x]
    byte_align_be[z, y]
    expect(13, z, 0x22334455)
    alu[--, x, +, 0]
    byte_align_le[z, y]
    expect(14, z, 0x88112233)
    byte_align_be[--, x]
    nop
    byte_align_be[z, y]
    expect(15, z, 0x00000055)
    ; A product of 32 by 32 bits.
    immed32[x, 0xdeadbeef]
    immed32[y, 0x12345678]
    mul_start[x, y]
    mul_step[0]
    mul_step[1]
    mul_step[2]
    mul_step[3]
    mul_last[z]
    expect(8, z, 0x5621ca08)
    mul_last2[z]
    expect(9, z, 0x0fd5bdee)
    immed[z, 0]
    alu[--, z, -, 1]
    br_bmi[minus#]
    fail(10)
minus#:
    alu[--, z, +, 1]
    br_bpl[plus#]
    fail(11)
plus#:
    br_bmi[wrong#]
    pass()
wrong#:
    fail(12)
