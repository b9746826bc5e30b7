// Test bench of wl_siphash: hashes of random keys under secrets that the control plane reads and
// changes meanwhile, and indices out of range, after the promised cycles; over key widths and
// numbers of secrets. The model takes a byte at a time, and gives the hashes that the paper and its
// code print.
module wl_siphash_tb;
  localparam int unsigned Cases = 5;
  localparam bit [Cases*32-1:0] KeyBits = {32'd504, 32'd13, 32'd104, 32'd64, 32'd56};
  localparam bit [Cases*32-1:0] Size = {32'd1, 32'd3, 32'd2, 32'd16, 32'd5};
`ifdef WL_FEW_CASES  // for a run that is short
  localparam bit [Cases-1:0] Chosen = 5'b01010;
`else
  localparam bit [Cases-1:0] Chosen = '1;
`endif

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done | ~Chosen));
  for (genvar i = 0; i < Cases; i++) if (Chosen[i]) begin : g_case
    siphash_case #(.KeyBits(KeyBits[32*i+:32]), .Size(Size[32*i+:32])) i_case (
        .clk_i(clk), .rst_i(rst), .done_o(done[i]));
  end
endmodule

module siphash_case #(
    parameter int unsigned KeyBits = 64,
    parameter int unsigned Size = 1
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned Requests = 600;
  localparam int unsigned Bytes = (KeyBits + 7) / 8;
  localparam int unsigned Latency = 2 * (Bytes / 8) + 10;

  logic valid, ready, reply_valid;
  logic [4:0] tag, reply_tag;
  logic [31:0] index;
  logic [KeyBits-1:0] key;
  logic [63:0] reply;
  logic ctl_valid, ctl_write, ctl_done;
  logic [31:0] ctl_address;
  logic [130:0] ctl_data, ctl_reply;

  wl_siphash #(
      .KeyBits(KeyBits), .Size(Size), .TagBits(5), .CtlBits(131), .CtlTarget(8'd7)
  ) i_dut (
      .clk_i, .rst_i,
      .request_valid_i(valid), .request_ready_o(ready), .request_tag_i(tag),
      .request_data_i({index, key}),
      .reply_valid_o(reply_valid), .reply_tag_o(reply_tag), .reply_data_o(reply),
      .ctl_valid_i(ctl_valid), .ctl_write_i(ctl_write), .ctl_target_i(8'd7),
      .ctl_address_i(ctl_address),
      .ctl_data_i(ctl_data), .ctl_done_o(ctl_done), .ctl_data_o(ctl_reply)
  );

  // The first byte of `data` is at its bit 8 * length - 1.
  function automatic logic [63:0] model(logic [127:0] secret, logic [511:0] data,
      int unsigned length);
    logic [63:0] v[4], word, k0, k1;
    for (int i = 0; i < 8; i++) k0[8*i+:8] = secret[127-8*i-:8];
    for (int i = 0; i < 8; i++) k1[8*i+:8] = secret[63-8*i-:8];
    v[0] = k0 ^ 64'h736f6d6570736575;
    v[1] = k1 ^ 64'h646f72616e646f6d;
    v[2] = k0 ^ 64'h6c7967656e657261;
    v[3] = k1 ^ 64'h7465646279746573;
    for (int unsigned at = 0; at <= length + 8; at++) begin
      int unsigned rounds;
      rounds = 0;
      if (at < length) word = {data[8*(length-1-at)+:8], word[63:8]};
      if (at < length && at % 8 == 7) rounds = 2;
      if (at == length) begin
        word = length % 8 == 0 ? '0 : word >> (64 - 8 * (length % 8));
        word[63:56] = 8'(length);
        rounds = 2;
      end
      if (at == length + 8) begin
        v[2] ^= 64'hff;
        rounds = 4;
      end
      if (rounds == 2) v[3] ^= word;
      repeat (rounds) begin
        v[0] = v[0] + v[1];
        v[1] = {v[1][50:0], v[1][63:51]} ^ v[0];
        v[0] = {v[0][31:0], v[0][63:32]};
        v[2] = v[2] + v[3];
        v[3] = {v[3][47:0], v[3][63:48]} ^ v[2];
        v[0] = v[0] + v[3];
        v[3] = {v[3][42:0], v[3][63:43]} ^ v[0];
        v[2] = v[2] + v[1];
        v[1] = {v[1][46:0], v[1][63:47]} ^ v[2];
        v[2] = {v[2][31:0], v[2][63:32]};
      end
      if (rounds == 2) v[0] ^= word;
    end
    model = v[0] ^ v[1] ^ v[2] ^ v[3];
  endfunction

  // Aumasson and Bernstein, appendix A, and the vectors of their code.
  localparam logic [127:0] Known = 128'h000102030405060708090a0b0c0d0e0f;
  localparam logic [119:0] Data = 120'h000102030405060708090a0b0c0d0e;
  initial begin
    if (model(Known, 512'(Data), 15) !== 64'ha129ca6149be45e5
        || model(Known, 512'(Data[119:56]), 8) !== 64'h93f5f5799a932462
        || model(Known, 512'(Data[119:64]), 7) !== 64'hab0200f58b01d137
        || model(Known, 512'd0, 1) !== 64'h74f839c593dc67fd) $fatal(1, "%m: the model");
  end

  function automatic logic [127:0] draw();
    draw = {$urandom(), $urandom(), $urandom(), $urandom()};
  endfunction

  // A request that is taken during a write of its secret may use the old secret or the new one.
  logic [127:0] secrets[Size];
  logic is_written;
  assign is_written = ctl_valid && ctl_write && ctl_address == index;
  logic [63:0] expected, expected_if_behind;
  logic [4:0] expected_tag;
  int unsigned requests, cycle, accesses, waited;
  logic waits;
  assign done_o = requests == Requests && !waits && !valid && accesses >= 100;

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
        if (cycle !== Latency) $fatal(1, "%m: it took %0d cycles", cycle);
        waits <= 1'b0;
      end
      if (valid && ready) begin
        if (waits && !reply_valid) $fatal(1, "%m: a request is taken while another waits");
        expected <= index < Size ? model(secrets[index], 512'(key), Bytes) : '0;
        expected_if_behind <= index < Size
            ? model(is_written ? ctl_data[127:0] : secrets[index], 512'(key), Bytes) : '0;
        expected_tag <= tag;
        valid <= 1'b0;
        waits <= 1'b1;
        cycle <= 1;
        waited <= 0;
      end else if (!valid && requests < Requests && tb_pkg::chance(150)) begin
        valid <= 1'b1;
        requests <= requests + 1;
        tag <= 5'($urandom());
        index <= tb_pkg::chance(20) ? $urandom() : $urandom() % (Size + 1);
        key <= KeyBits'({draw(), draw(), draw(), draw()});
      end else if (valid) begin
        waited <= waited + 1;
        if (waited > Latency + 4) $fatal(1, "%m: a request is not taken");
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
