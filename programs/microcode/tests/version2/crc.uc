; crc_be, crc_le: "123456789" by every polynomial, against the published check values.
#include "test.inc"
.reg x y z w

; The remainder begins with ones.
#macro begin(value)
    immed32[z, value]
    local_csr_wr[crc_remainder, z]
    nop
    nop
    nop
#endm
#macro checked(number, value)
    local_csr_rd[crc_remainder]
    immed[z, 0]
    expect(number, z, value)
#endm

    immed32[x, 0x31323334]
    immed32[y, 0x35363738]
    immed32[w, 0x39000000]
    begin(0xffff)
    crc_be[crc_ccitt, --, x]
    crc_be[crc_ccitt, --, y], bytes_0_3
    crc_be[crc_ccitt, z, w], byte_0
    ; The source goes to the destination.
    expect(1, z, 0x39000000)
    checked(2, 0x29b1)
    ; Ethernet takes the lowest bit of a byte first, and inverts what comes out.
    begin(0xffffffff)
    crc_be[crc_32, --, x], bit_swap
    crc_be[crc_32, --, y], bit_swap
    crc_be[crc_32, --, w], byte_0, bit_swap
    checked(3, 0x9b63d02c)
    begin(0xffffffff)
    crc_be[crc_iscsi, --, x], bit_swap
    crc_be[crc_iscsi, --, y], bit_swap
    crc_be[crc_iscsi, --, w], byte_0, bit_swap
    checked(4, 0x3eb69f38)
    begin(0)
    crc_be[crc_10, --, x]
    crc_be[crc_10, --, y]
    crc_be[crc_10, --, w], byte_0
    checked(5, 0x199)
    begin(0x1f)
    crc_be[crc_5, --, x], bit_swap
    crc_be[crc_5, --, y], bit_swap
    crc_be[crc_5, --, w], byte_0, bit_swap
    checked(6, 0x0c)
    ; The lowest byte first, and parts of words.
    immed32[x, 0x34333231]
    immed32[y, 0x38373635]
    immed[w, 0x39]
    begin(0xffff)
    crc_le[crc_ccitt, --, x], bytes_0_1
    crc_le[crc_ccitt, --, x], bytes_2_3
    crc_le[crc_ccitt, --, y], bytes_0_2
    crc_le[crc_ccitt, --, y], byte_3
    crc_le[crc_ccitt, --, w], byte_0
    checked(7, 0x29b1)
    begin(0xffff)
    crc_le[crc_ccitt, --, x], byte_0
    crc_le[crc_ccitt, --, x], bytes_1_3
    crc_le[crc_ccitt, --, y]
    crc_le[crc_ccitt, --, w], byte_0
    checked(8, 0x29b1)
    pass()
