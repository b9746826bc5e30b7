; The CAM: found, not found, the entry that was used the longest ago, states.
#include "test.inc"
.reg x z entry
    cam_clear
    immed32[x, 0xabcd0000]
    cam_lookup[z, x]
    ; Not found: entry 0 was used the longest ago.
    expect(1, z, 0)
    cam_write[z, x, 5]
    cam_lookup[z, x]
    expect(2, z, 0x580)
    immed32[x, 0xabcd0001]
    cam_lookup[z, x]
    expect(3, z, 0x008)
    immed[entry, 9]
    cam_write[entry, x, 3]
    cam_lookup[z, x]
    expect(4, z, 0x3c8)
    cam_write_state[entry, 12]
    cam_read_state[z, entry]
    expect(5, z, 0xc00)
    cam_read_tag[z, entry]
    expect(6, z, 0xabcd0001)
    ; An entry selects 16 words of local memory, here of the second block of 256 words.
    immed[z, (1024 + (9 * 64) + 4)]
    local_csr_wr[active_lm_addr_0, z]
    nop
    nop
    nop
    immed[z, 777]
    alu[*l$index0, --, B, z]
    cam_lookup[z, x], lm_addr1[1]
    nop
    nop
    nop
    alu[z, --, B, *l$index1[1]]
    expect(7, z, 777)
    local_csr_rd[active_lm_addr_1]
    immed[z, 0]
    expect(8, z, (1024 + (9 * 64)))
    ; So does the entry that was used the longest ago, if none is found.
    immed[x, 5]
    cam_lookup[z, x], lm_addr0[2]
    nop
    nop
    nop
    local_csr_rd[active_lm_addr_0]
    immed[z, 0]
    expect(9, z, (2048 + (1 * 64)))
    pass()
