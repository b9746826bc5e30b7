// The inputs of a module that merges streams of packets: a source for each input, and a check of
// the output, whose word is {source, word of that source}.
module tb_merge_sources #(
    parameter int unsigned Inputs = 2,
    parameter int unsigned Width = 24,          // bits of a beat: 8 bits of source, then its word
    parameter bit Packets = 1'b1,               // 0: every beat is a packet
    // Most packets of others before an input's own; 0: not checked.
    parameter int unsigned Wait = 0
) (
    input logic clk_i,
    input logic rst_i,

    output logic [Inputs-1:0] valid_o,
    input logic [Inputs-1:0] ready_i,
    output logic [Inputs-1:0] last_o,
    output logic [Inputs*Width-1:0] data_o,

    input logic valid_i,
    output logic ready_o,
    input logic last_i,
    input logic [Width-1:0] data_i,

    output logic done_o
);
  logic send, window;
  int unsigned idle, stall;
  tb_pressure i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window), .done_o
  );

  logic [31:0] sent[Inputs];
  for (genvar i = 0; i < Inputs; i++) begin : g_source
    logic last;
    tb_source #(.Width(Width - 8), .Source(i)) i_source (
        .clk_i, .rst_i, .send_i(send), .idle_i(idle),
        .valid_o(valid_o[i]), .ready_i(ready_i[i]), .last_o(last),
        .data_o(data_o[i*Width+:Width-8]), .count_o(sent[i])
    );
    assign data_o[i*Width+Width-8+:8] = 8'(i);
    assign last_o[i] = last || !Packets;
  end

  int unsigned received[Inputs], total, waited[Inputs];
  int owner;  // owner of the packet under way, or -1
  logic offered;
  logic [Width-1:0] was;
  int unsigned from;
  assign from = 32'(data_i[Width-1-:8]);
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      ready_o <= 1'b0;
      offered <= 1'b0;
      owner <= -1;
      total <= 0;
      for (int i = 0; i < int'(Inputs); i++) begin
        received[i] <= 0;
        waited[i] <= 0;
      end
    end else begin
      ready_o <= !tb_pkg::chance(stall);
      offered <= valid_i && !ready_o;
      was <= data_i;
      if (offered && !(valid_i && data_i === was)) $fatal(1, "%m: what was offered has changed");
      if (window && !(valid_i && ready_o)) $fatal(1, "%m: less than a beat a cycle");
      if (valid_i) begin
        if (from >= Inputs) $fatal(1, "%m: a beat of input %0d", from);
        if (data_i[Width-9:0] !== (Width - 8)'(tb_pkg::word(from, received[from]))) begin
          $fatal(1, "%m: beat %0d of input %0d is %h", received[from], from, data_i);
        end
        if (last_i !== (tb_pkg::last(from, received[from]) || !Packets)) begin
          $fatal(1, "%m: wrong last");
        end
        if (owner >= 0 && owner !== int'(from)) begin
          $fatal(1, "%m: packets of %0d and %0d mixed", owner, from);
        end
      end
      if (valid_i && ready_o) begin
        owner <= last_i ? -1 : int'(from);
        received[from] <= received[from] + 1;
        total <= total + 1;
        for (int i = 0; i < int'(Inputs); i++) begin
          // An input also waits while the tree holds its packets.
          waited[i] <= i == int'(from) || sent[i] == received[i] && !valid_o[i] ? 0
              : waited[i] + 32'(last_i);
          if (Wait !== 0 && waited[i] > Wait) begin
            $fatal(1, "%m: input %0d waited for %0d packets", i, waited[i]);
          end
        end
      end
      if (done_o) begin
        if (total < 900) $fatal(1, "%m: only %0d beats", total);
        for (int i = 0; i < int'(Inputs); i++) begin
          if (received[i] !== sent[i] || sent[i] === 0) begin
            $fatal(1, "%m: input %0d: %0d of %0d", i, received[i], sent[i]);
          end
        end
      end
    end
  end
endmodule
