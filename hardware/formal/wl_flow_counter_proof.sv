// Proof of wl_flow_counter in front of any memory that keeps its contract, for any requests and
// control accesses: the sums are exact, however close together the operations on a flow are.
// Unbounded, by induction.
//
// The module itself asserts that each operation on an arbitrary flow finds the sums of the previous
// one. This file adds the memory, and proves that it holds the result of the last operation, and
// that each operation adds its arguments.
module wl_flow_counter_proof #(
    parameter int unsigned Size = 2,
    parameter int unsigned CounterBits = 2,
    parameter int unsigned ReadLatency = 2
) (
    input logic clk_i,
    input logic rst_i,
    input logic request_valid_i,
    input logic [1:0] index_i,
    input logic [CounterBits-1:0] argument_i,
    input logic ctl_valid_i,
    input logic ctl_write_i,
    input logic [31:0] ctl_address_i,
    input logic [2*CounterBits-1:0] ctl_data_i,
    input logic hold_i
);
  localparam int unsigned AddressBits = 3;
  localparam int unsigned FlowBits = wl_pkg::bits(Size);
  localparam int unsigned AllBits = 2 * CounterBits;

  logic request_ready, ctl_done;
  logic [AllBits-1:0] ctl_data;
  logic [1:0] read_valid, write_valid;
  logic [2*AddressBits-1:0] read_address, write_address;
  logic [AllBits-1:0] read_data, write_data;
  wl_flow_counter #(
      .Size(Size), .Counters(2), .CounterBits(CounterBits), .Arguments(1),
      .ArgumentBits(CounterBits), .Adds(4'b0001),
      .IndexBits(2), .DataBits(CounterBits), .AddressBits(AddressBits), .ReadLatency(ReadLatency),
      .CtlBits(AllBits),
      .CtlTarget(8'd0), .Patience(1)
  ) i_dut (
      .clk_i, .rst_i,
      .request_valid_i, .request_ready_o(request_ready), .request_data_i({index_i, argument_i}),
      .ctl_valid_i, .ctl_write_i, .ctl_target_i(8'd0), .ctl_address_i, .ctl_data_i,
      .ctl_done_o(ctl_done), .ctl_data_o(ctl_data),
      .read_valid_o(read_valid), .read_address_o(read_address), .read_data_i(read_data),
      .write_valid_o(write_valid), .write_address_o(write_address), .write_data_o(write_data),
      .hold_i
  );

  // The memory: a bank for each counter; a read sees the writes of earlier cycles.
  logic [CounterBits-1:0] memory0[1<<AddressBits], memory1[1<<AddressBits];
  logic [ReadLatency*AllBits-1:0] line;
  always_ff @(posedge clk_i) begin
    line <= (ReadLatency
        * AllBits)'({line, memory1[read_address[AddressBits+:AddressBits]],
        memory0[read_address[AddressBits-1:0]]});
    if (write_valid[0]) memory0[write_address[AddressBits-1:0]] <= write_data[CounterBits-1:0];
    if (write_valid[1]) begin
      memory1[write_address[AddressBits+:AddressBits]] <= write_data[CounterBits+:CounterBits];
    end
  end
  assign read_data = line[(ReadLatency-1)*AllBits+:AllBits];

  logic started = 1'b0;
  logic was_ctl, was_write;
  logic [31:0] was_address;
  logic [AllBits-1:0] was_data;
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    was_ctl <= !rst_i && ctl_valid_i && !ctl_done;
    was_write <= ctl_write_i;
    was_address <= ctl_address_i;
    was_data <= ctl_data_i;
    Reset_M : assume (started || rst_i);
    // The master holds its access until it is done.
    if (was_ctl && !rst_i) begin
      Held_M : assume (ctl_valid_i && ctl_write_i == was_write && ctl_address_i == was_address
          && ctl_data_i == was_data);
    end

    if (!rst_i) begin
      if (i_dut.f_known) begin
        if (i_dut.w_valid && i_dut.w_flow == i_dut.f_flow) begin
          Written_A : assert (i_dut.w_sums == i_dut.f_sums);
        end else begin
          Memory0_A : assert (memory0[AddressBits'(i_dut.f_flow)] == i_dut.f_sums[0]);
          Memory1_A : assert (memory1[AddressBits'(i_dut.f_flow) | (AddressBits'(1) << FlowBits)]
              == i_dut.f_sums[1]);
        end
      end
      Both_A : assert (read_valid[0] == read_valid[1] && write_valid[0] == write_valid[1]);
    end
  end

  // The operations accepted in a cycle, and no others, are in the sums ReadLatency + 2 cycles
  // later.
  localparam int unsigned Later = ReadLatency + 1;
  logic [Later*(3+CounterBits)-1:0] asked;
  logic e_due;
  logic [1:0] e_index;
  logic [CounterBits-1:0] e_argument;
  always_ff @(posedge clk_i) begin
    if (rst_i) asked <= '0;
    else begin
      asked <= (Later
          * (3 + CounterBits))'({asked, request_valid_i && request_ready, index_i, argument_i});
    end
  end
  assign {e_due, e_index, e_argument} = asked[(Later-1)*(3+CounterBits)+:3+CounterBits];
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      if (e_due && 32'(e_index) < Size) begin
        Due_A : assert (i_dut.e_access.valid && !i_dut.e_access.ctl
            && i_dut.e_change.flow == e_index[FlowBits-1:0]);
        Sum_A : assert (i_dut.e_sums == {CounterBits'(i_dut.e_old[1] + 1'b1),
                                         CounterBits'(i_dut.e_old[0] + e_argument)});
      end else begin
        Nothing_A : assert (!i_dut.e_access.valid || i_dut.e_access.ctl);
      end
    end
  end
endmodule
