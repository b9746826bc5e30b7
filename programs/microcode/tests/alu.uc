; alu: every operation, and the condition codes.
#include "test.inc"
.reg x y z
    immed32[x, 0x12345678]
    immed32[y, 0xf0f0f0f0]
    alu[z, --, B, y]
    expect(1, z, 0xf0f0f0f0)
    alu[z, --, ~B, y]
    expect(2, z, 0x0f0f0f0f)
    alu[z, x, +, y]
    expect(3, z, 0x03254768)
    alu[z, x, +16, y]
    expect(4, z, 0x12354768)
    alu[z, x, -, y]
    expect(5, z, 0x21436588)
    alu[z, x, B-A, y]
    expect(6, z, 0xdebc9a78)
    alu[z, x, AND, y]
    expect(7, z, 0x10305070)
    alu[z, x, ~AND, y]
    expect(8, z, 0xe0c0a080)
    alu[z, x, AND~, y]
    expect(9, z, 0x02040608)
    alu[z, x, OR, y]
    expect(10, z, 0xf2f4f6f8)
    alu[z, x, XOR, y]
    expect(11, z, 0xe2c4a688)
    ; 64 bits: a carry out, and in.
    alu[z, x, +, y]
    alu[z, x, +carry, 1]
    expect(12, z, 0x1234567a)
    ; A borrow out, and in: 1 - 2, then 0x12345678 - 1 - borrow.
    alu[z, 1, -, 2]
    alu[z, x, -carry, 1]
    expect(13, z, 0x12345676)
    ; Constants on both sides, and the other bank first.
    alu[z, 31, +, 31]
    expect(14, z, 62)
    alu[z, y, -, x]
    expect(15, z, 0xdebc9a78)
    pass()
