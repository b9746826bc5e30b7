; find_bset, load_bset_result1, load_bset_result2.
#include "test.inc"
.reg x z
    immed32[x, 0x00500000]
    find_bset[x], clr_results
    load_bset_result1[z]
    expect(1, z, 16)
    find_bset[x, >>16]
    load_bset_result1[z]
    expect(2, z, 4)
    load_bset_result2[z]
    expect(3, z, 16)
    find_bset[x, >>8], clr_results
    load_bset_result1[z]
    expect(4, z, 12)
    pass()
