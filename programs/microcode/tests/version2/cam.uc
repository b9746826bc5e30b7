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
    pass()
