// Test bench of wl_aes: random blocks under secrets that the control plane reads and changes
// meanwhile, and indices out of range, after the promised cycles. The model computes S-boxes,
// products and inverses in GF(2^8) from their definitions, and gives the blocks of FIPS 197 and of
// NIST SP 800-38A.
module wl_aes_tb;
  localparam int unsigned Cases = 3;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  aes_case #(.Size(5), .MethodCount(2), .Methods(2'b10)) i_both (
      .clk_i(clk), .rst_i(rst), .done_o(done[0]));
  aes_case #(.Size(1), .MethodCount(1), .Methods(1'b0)) i_encrypt (
      .clk_i(clk), .rst_i(rst), .done_o(done[1]));
  aes_case #(.Size(2), .MethodCount(1), .Methods(1'b1)) i_decrypt (
      .clk_i(clk), .rst_i(rst), .done_o(done[2]));
endmodule

module aes_case #(
    parameter int unsigned Size = 1,
    parameter int unsigned MethodCount = 1,
    parameter logic [MethodCount-1:0] Methods = '0
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Requests = 400;
  localparam int unsigned Vectors = 6;

  logic valid, ready, reply_valid, method, decrypts;
  logic [4:0] tag, reply_tag;
  logic [31:0] index;
  logic [127:0] block, reply;
  logic ctl_valid, ctl_write, ctl_done;
  logic [31:0] ctl_address;
  logic [130:0] ctl_data, ctl_reply;
  assign decrypts = MethodCount > 1 ? Methods[method] : Methods[0];

  wl_aes #(
      .Size(Size), .MethodCount(MethodCount), .Methods(Methods), .TagBits(5), .CtlBits(131),
      .CtlTarget(8'd7)
  ) i_dut (
      .clk_i, .rst_i,
      .request_valid_i(valid), .request_ready_o(ready), .request_tag_i(tag),
      .request_data_i((159 + MethodCount)'({method, index, block})),
      .reply_valid_o(reply_valid), .reply_tag_o(reply_tag), .reply_data_o(reply),
      .ctl_valid_i(ctl_valid), .ctl_write_i(ctl_write), .ctl_target_i(8'd7),
      .ctl_address_i(ctl_address),
      .ctl_data_i(ctl_data), .ctl_done_o(ctl_done), .ctl_data_o(ctl_reply)
  );

  function automatic logic [7:0] product(logic [7:0] a, logic [7:0] b);
    // verilator no_inline_task
    logic [14:0] sum;
    sum = '0;
    for (int i = 0; i < 8; i++) if (b[i]) sum ^= 15'(a) << i;
    for (int i = 14; i >= 8; i--) if (sum[i]) sum ^= 15'h11b << (i - 8);
    product = sum[7:0];
  endfunction

  // The inverse is the power 254.
  function automatic logic [7:0] inverse(logic [7:0] a);
    // verilator no_inline_task
    inverse = 8'd1;
    repeat (254) inverse = product(inverse, a);
  endfunction
  function automatic logic [7:0] substitute(logic [7:0] a);
    // verilator no_inline_task
    logic [7:0] b;
    b = inverse(a);
    for (int i = 0; i < 8; i++)
      substitute[i] = b[i] ^ b[(i+4)%8] ^ b[(i+5)%8] ^ b[(i+6)%8] ^ b[(i+7)%8];
    substitute ^= 8'h63;
  endfunction

  // The box and its inverse, filled before the first cycle.
  logic [7:0] box[256], unbox[256];
  initial begin
    for (int i = 0; i < 256; i++) begin
      box[i] = substitute(8'(i));
      unbox[box[i]] = 8'(i);
    end
  end

  function automatic logic [127:0] columns(logic [127:0] s, logic [31:0] factors);
    // verilator no_inline_task
    logic [127:0] t;
    t = '0;
    for (int c = 0; c < 4; c++)
      for (int r = 0; r < 4; r++)
        for (int k = 0; k < 4; k++)
          t[127-32*c-8*r-:8] ^= product(factors[31-8*((k-r+4)%4)-:8], s[127-32*c-8*k-:8]);
    columns = t;
  endfunction

  function automatic logic [127:0] model(logic back, logic [127:0] secret, logic [127:0] data);
    logic [31:0] w[44];
    logic [127:0] s, t;
    logic [7:0] constant;
    constant = 8'd1;
    for (int i = 0; i < 44; i++) begin
      logic [31:0] word;
      word = w[i==0?0:i-1];
      if (i % 4 == 0) begin
        word = {box[word[23:16]] ^ constant, box[word[15:8]], box[word[7:0]], box[word[31:24]]};
        if (i > 0) constant = product(constant, 8'd2);
      end
      w[i] = i < 4 ? secret[127-32*i-:32] : w[i-4] ^ word;
    end
    s = data;
    for (int round = 0; round <= 10; round++) begin
      int k;
      k = back ? 10 - round : round;
      if (round > 0) begin
        for (int c = 0; c < 4; c++)
          for (int r = 0; r < 4; r++)
            if (back) t[127-32*((c+r)%4)-8*r-:8] = unbox[s[127-32*c-8*r-:8]];
            else t[127-32*c-8*r-:8] = box[s[127-32*((c+r)%4)-8*r-:8]];
        s = t;
        if (!back && round < 10) s = columns(s, 32'h02030101);
      end
      s ^= {w[4*k], w[4*k+1], w[4*k+2], w[4*k+3]};
      if (back && round > 0 && round < 10) s = columns(s, 32'h0e0b0d09);
    end
    model = s;
  endfunction

  // Secret, block, encrypted block: FIPS 197, appendices B and C.1; SP 800-38A, F.1.1.
  localparam logic [Vectors*384-1:0] Known = {
    128'h2b7e151628aed2a6abf7158809cf4f3c,
    128'h3243f6a8885a308d313198a2e0370734,
    128'h3925841d02dc09fbdc118597196a0b32,
    128'h000102030405060708090a0b0c0d0e0f,
    128'h00112233445566778899aabbccddeeff,
    128'h69c4e0d86a7b0430d8cdb78070b4c55a,
    128'h2b7e151628aed2a6abf7158809cf4f3c,
    128'h6bc1bee22e409f96e93d7e117393172a,
    128'h3ad77bb40d7a3660a89ecaf32466ef97,
    128'h2b7e151628aed2a6abf7158809cf4f3c,
    128'hae2d8a571e03ac9c9eb76fac45af8e51,
    128'hf5d3d58503b9699de785895a96fdbaaf,
    128'h2b7e151628aed2a6abf7158809cf4f3c,
    128'h30c81c46a35ce411e5fbc1191a0a52ef,
    128'h43b1cd7f598ece23881b00e3ed030688,
    128'h2b7e151628aed2a6abf7158809cf4f3c,
    128'hf69f2445df4f9b17ad2b417be66c3710,
    128'h7b0c785e27e8ad3f8223207104725dd4
  };
  logic [127:0] secret, plain, encrypted;
  initial begin
    #1;
    for (int i = 0; i < Vectors; i++) begin
      {secret, plain, encrypted} = Known[384*i+:384];
      if (model(1'b0, secret, plain) !== encrypted || model(1'b1, secret, encrypted) !== plain)
      begin
        $fatal(1, "%m: the model, vector %0d", i);
      end
    end
  end

  function automatic logic [127:0] draw();
    draw = {$urandom(), $urandom(), $urandom(), $urandom()};
  endfunction

  // A request that is taken during a write of its secret may use the old secret or the new one.
  logic [127:0] secrets[Size];
  logic is_written;
  assign is_written = ctl_valid && ctl_write && ctl_address == index;
  logic [127:0] expected, expected_if_behind;
  logic [4:0] expected_tag;
  int unsigned requests, cycle, latency, accesses, waited;
  logic waits;
  assign done_o = requests == Requests && !waits && !valid && accesses >= 50;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {valid, waits, requests, cycle, accesses, ctl_valid, waited} <= '0;
      for (int unsigned k = 0; k < Size; k++) secrets[k] = '0;
    end else if (!done_o) begin
      cycle <= cycle + 1;
      if (reply_valid) begin
        if (!waits || (reply !== expected && reply !== expected_if_behind)
            || reply_tag !== expected_tag) begin
          $fatal(1, "%m: %h, not %h", reply, expected);
        end
        if (cycle !== latency) $fatal(1, "%m: it took %0d cycles", cycle);
        waits <= 1'b0;
      end
      if (valid && ready) begin
        if (waits && !reply_valid) $fatal(1, "%m: a request is taken while another waits");
        expected <= index < Size ? model(decrypts, secrets[index], block) : '0;
        expected_if_behind <= index < Size
            ? model(decrypts, is_written ? ctl_data[127:0] : secrets[index], block) : '0;
        expected_tag <= tag;
        latency <= decrypts ? 24 : 14;
        valid <= 1'b0;
        waits <= 1'b1;
        cycle <= 1;
        waited <= 0;
      end else if (!valid && requests < Requests && tb_pkg::chance(150)) begin
        valid <= 1'b1;
        requests <= requests + 1;
        tag <= 5'($urandom());
        method <= 1'($urandom());
        index <= tb_pkg::chance(20) ? $urandom() : $urandom() % (Size + 1);
        block <= draw();
      end else if (valid) begin
        waited <= waited + 1;
        if (waited > 28) $fatal(1, "%m: a request is not taken");
      end
      if (ctl_done) begin
        if (!ctl_valid
            || ctl_reply !== (ctl_address < Size ? 131'(secrets[ctl_address]) : '0)) begin
          $fatal(1, "%m: secret %h", ctl_reply);
        end
        if (ctl_write && ctl_address < Size) secrets[ctl_address] = ctl_data[127:0];
        accesses <= accesses + 1;
        ctl_valid <= 1'b0;
      end else if (ctl_reply !== '0) begin
        $fatal(1, "%m: the control bus is driven");
      end
      if ((!ctl_valid || ctl_done) && tb_pkg::chance(20)) begin
        ctl_valid <= 1'b1;
        ctl_write <= tb_pkg::chance(128);
        ctl_address <= $urandom() % (Size + 1);
        ctl_data <= 131'(draw());
      end
    end
  end
endmodule
