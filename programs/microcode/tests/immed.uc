; immed, immed_b, immed_w, load_addr, ld_field, ld_field_w_clr.
#include "test.inc"
.reg x y
    immed[x, 0x1234]
    expect(1, x, 0x1234)
    immed[x, 0x00123400]
    expect(2, x, 0x00123400)
    immed[x, 0x12340000]
    expect(3, x, 0x12340000)
    immed[x, -2]
    expect(4, x, 0xfffffffe)
    immed[x, 0xffff1234]
    expect(5, x, 0xffff1234)
    immed_b0[x, 0xb0]
    expect(6, x, 0xffff12b0)
    immed_b1[x, 0xb1]
    expect(7, x, 0xffffb1b0)
    immed_b2[x, 0xb2]
    expect(8, x, 0xffb2b1b0)
    immed_b3[x, 0xb3]
    expect(9, x, 0xb3b2b1b0)
    immed_w0[x, 0xcafe]
    expect(10, x, 0xb3b2cafe)
    immed_w1[x, 0xbabe]
    expect(11, x, 0xbabecafe)
    immed32[y, 0x11223344]
    ld_field[x, 0101, y]
    expect(12, x, 0xba22ca44)
    ld_field[x, 1000, y, <<8]
    expect(13, x, 0x2222ca44)
    ld_field[x, 0011, y, >>16]
    expect(14, x, 0x22221122)
    ld_field_w_clr[x, 0110, y]
    expect(15, x, 0x00223300)
    ld_field_w_clr[x, 0001, y, >>rot24]
    expect(16, x, 0x00000011)
    ld_field[y, 1111, x]
    expect(17, y, 0x00000011)
    ; The address is that of the label: returning by it comes here.
    load_addr[x, there#]
    rtn[x]
    fail(18)
there#:
    pass()
