// Proof of wl_table, for any requests and control accesses: each operation on an arbitrary element
// finds the result of the previous one, and its own result is that of its method. With a method
// that writes, this holds over resets at any time: an operation that has read its element is
// performed. Unbounded, by induction.
module wl_table_proof
  import wl_pkg::*;
#(
    parameter int unsigned Width = 2,
    parameter int unsigned Size = 3,
    parameter int unsigned MethodCount = 6,
    parameter logic [MethodCount*MethodBits-1:0] Methods = 18'b101_100_011_010_001_000,
    localparam int unsigned IndexBits = 3,
    localparam int unsigned RequestBits =
        table_request_bits(MethodCount, 24'(Methods), IndexBits, Width),
    localparam int unsigned ReplyBits = Width
        + 32'(table_has(MethodCount, 24'(Methods), TABLE_COMPARE_SWAP))
) (
    input logic clk_i,
    input logic rst_i,
    input logic request_valid_i,
    input logic request_tag_i,
    input logic [RequestBits-1:0] request_data_i,
    input logic ctl_valid_i,
    input logic ctl_write_i,
    input logic [31:0] ctl_address_i,
    input logic [Width-1:0] ctl_data_i
);
  logic request_ready, reply_valid, reply_tag, ctl_done;
  logic [ReplyBits-1:0] reply_data;
  logic [Width-1:0] ctl_data;
  wl_table #(
      .Width(Width), .Size(Size), .MethodCount(MethodCount), .Methods(Methods),
      .IndexBits(IndexBits), .TagBits(1),
      .CtlBits(Width), .CtlTarget(8'd0), .Patience(1)
  ) i_dut (
      .clk_i, .rst_i,
      .request_valid_i, .request_ready_o(request_ready), .request_tag_i, .request_data_i,
      .reply_valid_o(reply_valid), .reply_tag_o(reply_tag), .reply_data_o(reply_data),
      .ctl_valid_i, .ctl_write_i, .ctl_target_i(8'd0), .ctl_address_i, .ctl_data_i,
      .ctl_done_o(ctl_done), .ctl_data_o(ctl_data)
  );

  logic started = 1'b0;
  logic was_ctl, was_write;
  logic [31:0] was_address;
  logic [Width-1:0] was_data;
  logic [2:0] due, tags;  // requests accepted one, two and three cycles ago
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    was_ctl <= !rst_i && ctl_valid_i && !ctl_done;
    was_write <= ctl_write_i;
    was_address <= ctl_address_i;
    was_data <= ctl_data_i;
    due <= rst_i ? '0 : {due[1:0], request_valid_i && request_ready};
    tags <= {tags[1:0], request_tag_i};
    Reset_M : assume (started || rst_i);
    // The master holds its access until it is done.
    if (was_ctl && !rst_i) begin
      Held_M : assume (ctl_valid_i && ctl_write_i == was_write && ctl_address_i == was_address
          && ctl_data_i == was_data);
    end
    if (!rst_i) begin
      Reply_A : assert (reply_valid == due[2]);
      if (reply_valid) Tag_A : assert (reply_tag == tags[2]);
      Done_A : assert (!(reply_valid && ctl_done));
      // One control access at a time.
      One_A : assert (2'(i_dut.a_ctl) + 2'(i_dut.b_ctl) + 2'(ctl_done)
          == 2'(i_dut.i_control_slot.entered));
    end
  end

  // Invariants for the induction: the memory holds the result of the last operation, except for
  // writes under way.
  logic in;
  assign in = 32'(i_dut.f_index) < Size;
  if (RequestBits > IndexBits) begin : g_change
    logic [Width-1:0] held;
    assign held = i_dut.write && i_dut.write_index == i_dut.f_index ? i_dut.write_value
        : i_dut.i_ram.memory[i_dut.f_index];
    // A reset leaves the element as its last operation did.
    always_ff @(posedge clk_i) if (in && i_dut.f_known) Held_A : assert (held == i_dut.f_value);
    // The results of the methods.
    always_ff @(posedge clk_i) begin
      if (!rst_i && i_dut.b_valid && !i_dut.b_ctl && i_dut.b_in) begin
        case (i_dut.g_change.b_method)
          TABLE_READ: Read_A : assert (!i_dut.g_change.b_write);
          TABLE_WRITE,
              TABLE_EXCHANGE: Write_A
              : assert (i_dut.g_change.b_new == i_dut.g_change.b_value && i_dut.g_change.b_write);
          TABLE_ADD, TABLE_FETCH_ADD:
          Add_A : assert (i_dut.g_change.b_new == Width'(i_dut.b_old + i_dut.g_change.b_value)
              && i_dut.g_change.b_write);
          default: Swap_A : assert (i_dut.g_change.b_write == i_dut.b_swapped);
        endcase
      end
    end
  end else begin : g_read_only
    // A control access writes when it reads, so the memory is ahead of the model.
    always_ff @(posedge clk_i) begin
      if (!rst_i && in && i_dut.f_touched) begin
        Next_A : assert (i_dut.i_ram.memory[i_dut.f_index] == i_dut.f_new);
      end else if (!rst_i && in && i_dut.f_known) begin
        Held_A : assert (i_dut.i_ram.memory[i_dut.f_index] == i_dut.f_value);
      end
    end
  end
endmodule
