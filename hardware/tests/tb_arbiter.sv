// Compares one arbiter with a model: requests arrive and stay until their packet has passed, and
// grants are taken at once or late. The model keeps the number of the input served last and
// searches from there, one by one.
module tb_arbiter #(
    parameter int unsigned Inputs = 2,
    parameter bit Lock = 1'b1,
    parameter bit Fair = 1'b1
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  logic [Inputs-1:0] request, grant;
  logic valid, taken, last;

  if (Fair) begin : g_fair
    wl_arbiter_fair #(.Inputs(Inputs), .Lock(Lock)) i_dut (
        .clk_i, .rst_i, .request_i(request), .taken_i(taken), .last_i(last), .grant_o(grant),
        .valid_o(valid)
    );
  end else begin : g_fixed
    wl_arbiter_fixed #(.Inputs(Inputs), .Lock(Lock)) i_dut (
        .clk_i, .rst_i, .request_i(request), .taken_i(taken), .last_i(last), .grant_o(grant),
        .valid_o(valid)
    );
  end

  int unsigned cycle, served;       // served: the input served last
  int owner;                        // owner of the packet under way, or -1
  int unsigned waited[Inputs];      // packets of others since the input began to request
  int unsigned grants[Inputs];

  function automatic int expected();
    int unsigned candidate;
    expected = -1;
    if (owner >= 0) begin
      if (request[owner[$clog2(Inputs+1)-1:0]]) expected = owner;
    end else begin
      for (int unsigned i = Inputs; i >= 1; i--) begin
        candidate = Fair ? (served + i) % Inputs : i - 1;
        if (request[candidate[$clog2(Inputs+1)-1:0]]) expected = int'(candidate);
      end
    end
  endfunction

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      cycle <= 0;
      served <= Inputs - 1;
      owner <= -1;
      request <= '0;
      taken <= 1'b0;
      last <= 1'b1;
      for (int i = 0; i < int'(Inputs); i++) begin
        waited[i] <= 0;
        grants[i] <= 0;
      end
    end else if (!done_o) begin
      int winner;
      bit through;
      winner = expected();
      through = winner >= 0 && taken && last;
      cycle <= cycle + 1;
      if (valid !== (winner >= 0)) $fatal(1, "%m: valid is %b for requests %b", valid, request);
      for (int i = 0; i < int'(Inputs); i++) begin
        bit moves;
        moves = winner == i && taken;
        if (grant[i] !== (winner === i)) begin
          $fatal(1, "%m: grant is %b, not %0d, for requests %b", grant, winner, request);
        end
        // A request that is not granted stays; in the middle of a packet the next beat may be late.
        if (!request[i] || moves) begin
          request[i] <= tb_pkg::chance(cycle < 1500 ? 256 : cycle < 3000 || i == owner ? 128 : 4);
        end
        if (moves && last) grants[i] <= grants[i] + 1;
        waited[i] <= !request[i] || winner == i || owner == i ? 0 : waited[i] + 32'(through);
        if (Fair && waited[i] >= Inputs) begin
          $fatal(1, "%m: input %0d waited for %0d packets", i, waited[i]);
        end
      end
      if (through) served <= winner;
      if (Lock && winner >= 0) owner <= through ? -1 : winner;
      taken <= tb_pkg::chance(cycle < 1000 ? 256 : 128);
      // Without a lock every beat is a packet.
      last <= !Lock || tb_pkg::chance(100);
    end else begin
      // With fixed priorities the high inputs of a wide arbiter may starve.
      for (int i = 0; i < int'(Inputs); i++) begin
        if (grants[i] === 0 && (Fair || i < 8)) $fatal(1, "%m: input %0d was never granted", i);
      end
    end
  end
  assign done_o = cycle == 6000;

endmodule
