// Functions that test benches share: words that follow from their source and number, so that a
// receiver knows which word must come next, and random decisions. Those that are called most are
// compiled once (`no_inline_task`), not into each place: the C++ of large benches is a third
// shorter.
package tb_pkg;

  localparam int unsigned WordBits = 512;

  // Mixes 32 bits (the finaliser of MurmurHash3).
  function automatic logic [31:0] mix(logic [31:0] value);
    /* verilator no_inline_task */
    mix = value;
    mix = (mix ^ (mix >> 16)) * 32'h85ebca6b;
    mix = (mix ^ (mix >> 13)) * 32'hc2b2ae35;
    mix = mix ^ (mix >> 16);
  endfunction

  // Returns word `number` of `source`: random in its lowest 32 bits; the bits above repeat them,
  // differently in each 32.
  function automatic logic [WordBits-1:0] word(int unsigned source, int unsigned number);
    logic [31:0] random;
    random = mix(number + source * 32'h9e3779b9);
    for (int unsigned i = 0; i < WordBits / 32; i++) word[32*i+:32] = random ^ (i * 32'h01234567);
  endfunction

  // Returns whether word `number` of `source` is the last of its packet; packets have four words on
  // average.
  function automatic bit last(int unsigned source, int unsigned number);
    return mix(mix(number) + source) % 4 == 0;
  endfunction

  // Returns true `of_256` times in 256.
  function automatic bit chance(int unsigned of_256);
    return ($urandom() % 256) < of_256;
  endfunction

  // Returns byte `place` of packet `number` of `source`.
  function automatic logic [7:0] octet(int unsigned source, int unsigned number,
      int unsigned place);
    /* verilator no_inline_task */
    logic [31:0] random;
    random = mix(number * 32'd2654435761 + source + (place / 4) * 32'd40503);
    return random[8*(place%4)+:8];
  endfunction

  // Returns the bytes of packet `number` of `source`. Shape 0: always 64; 1: 1 to 64; 2: none to
  // 300, often near multiples of 64; 3: up to 2,000; 4: one length for some packets, then another.
  function automatic int unsigned bytes(int unsigned shape, int unsigned source,
      int unsigned number);
    /* verilator no_inline_task */
    int unsigned random;
    random = mix(mix(number) + source + 32'd77);
    case (shape)
      0: return 64;
      1: return 1 + random % 64;
      2: return (random >> 8) % 4 == 0 ? 64 * (random % 4) + (random >> 12) % 3 : random % 301;
      3: return (random >> 8) % 8 == 0 ? random % 2001 : 40 + random % 100;
      default: begin
        int unsigned lengths[10];
        lengths = '{60, 64, 61, 65, 128, 129, 190, 300, 4, 700};
        return lengths[(number / 16) % 10];
      end
    endcase
  endfunction

  // Returns the goal, below `goals`, of packet `number` of `source`.
  function automatic int unsigned goal(int unsigned goals, int unsigned source,
      int unsigned number);
    return mix(mix(number) + source + 32'd5) % goals;
  endfunction

endpackage
