; alu_shf, dbl_shf: every shift.
#include "test.inc"
.reg x y z n
    immed32[x, 0x87654321]
    immed32[y, 0x0000ff00]
    alu_shf[z, --, B, x, <<4]
    expect(1, z, 0x76543210)
    alu_shf[z, --, B, x, >>4]
    expect(2, z, 0x08765432)
    alu_shf[z, --, B, x, >>rot4]
    expect(3, z, 0x18765432)
    alu_shf[z, --, B, x, <<rot4]
    expect(4, z, 0x76543218)
    alu_shf[z, --, ~B, x, <<31]
    expect(5, z, 0x7fffffff)
    alu_shf[z, y, AND, x, >>8]
    expect(6, z, 0x00006500)
    alu_shf[z, y, ~AND, x, >>8]
    expect(7, z, 0x00870043)
    alu_shf[z, y, AND~, x, >>8]
    expect(8, z, 0x00009a00)
    alu_shf[z, y, OR, x, >>16]
    expect(9, z, 0x0000ff65)
    alu_shf[z, y, XOR, x, <<0]
    expect(10, z, 0x8765bc21)
    immed[n, 12]
    alu[--, n, OR, 0]
    alu_shf[z, --, B, x, >>indirect]
    expect(11, z, 0x00087654)
    alu[--, n, OR, 0]
    alu_shf[z, --, B, x, <<indirect]
    expect(12, z, 0x54321000)
    dbl_shf[z, x, y, >>16]
    expect(13, z, 0x43210000)
    dbl_shf[z, y, x, >>1]
    expect(14, z, 0x43b2a190)
    alu[--, n, OR, 0]
    dbl_shf[z, x, y, >>indirect]
    expect(15, z, 0x3210000f)
    pass()
