// Proof of wl_park, for any requests and control accesses: each is answered at most once, with its
// tag, and none is accepted before the previous one is answered, or while `hold_i` is high; the
// control plane waits for at most one request. A request reads and writes only words of the current
// slot's window or body, and only movements do; beats of the body buffer are read only to store a
// body, and written only to fetch one. The test bench checks the data of replies and words, and
// that searches end, against a plain list of packets. Unbounded, by induction.
module wl_park_proof #(
    parameter logic [63:0] Age = 64'd0,
    parameter int unsigned DataBytes = 8,
    parameter int unsigned BodyBytes = 9,
    localparam int unsigned KeyBits = 2,
    localparam int unsigned PlaceBits = 2,
    localparam int unsigned RequestBits = 3 + KeyBits + 128 + 16 + PlaceBits + 64,
    localparam int unsigned CtlBits = 186 + KeyBits
) (
    input logic clk_i,
    input logic rst_i,
    input logic request_valid_i,
    input logic request_tag_i,
    input logic [RequestBits-1:0] request_data_i,
    input logic ctl_valid_i,
    input logic ctl_write_i,
    input logic [31:0] ctl_address_i,
    input logic [CtlBits-1:0] ctl_data_i,
    input logic [8*DataBytes-1:0] access_data_i,
    input logic [63:0] read_data_i,
    input logic hold_i
);
  // Four keys in two buckets, and two packets.
  localparam int unsigned Size = 2;
  localparam int unsigned Lanes = DataBytes / 8;
  localparam int unsigned BodyWords = (BodyBytes + DataBytes - 1) / DataBytes * Lanes;
  localparam int unsigned WordBits = $clog2(32 + BodyWords);
  localparam int unsigned AddressBits = WordBits + 1;

  // The encoding of the module: states, and operations.
  typedef enum logic [4:0] {
    CLEAR = 5'd0, IDLE = 5'd1, BODY = 5'd13, READ = 5'd14, ARRIVE = 5'd15, WRITE = 5'd16,
    COPY = 5'd17, COPIED = 5'd18
  } state_e;
  typedef enum logic [3:0] {
    PUT = 4'd3, GET = 4'd4, STORE = 4'd5, FETCH = 4'd6, PEEK = 4'd12, POKE = 4'd13
  } op_e;
  localparam logic [3:0] FirstOfControl = 4'd8;
  logic [4:0] state;
  logic [3:0] op;
  assign state = i_dut.state;
  assign op = i_dut.op;

  logic request_ready, reply_valid, reply_tag, ctl_done;
  logic [127:0] reply_data;
  logic [CtlBits-1:0] ctl_data;
  logic access_read, access_write, read_valid, write_valid;
  logic [PlaceBits-1:0] access_address, access_write_address;
  logic [8*DataBytes-1:0] access_write_data;
  logic [AddressBits-1:0] read_address, write_address;
  logic [63:0] write_data;
  wl_park #(
      .KeyBits(KeyBits), .Size(Size), .Age(Age), .BodyBytes(BodyBytes), .DataBytes(DataBytes),
      .PlaceBits(PlaceBits), .DataBits(64), .AddressBits(AddressBits), .ReadLatency(1),
      .TagBits(1), .CtlBits(CtlBits), .Buckets(2)
  ) i_dut (
      .clk_i, .rst_i,
      .request_valid_i, .request_ready_o(request_ready), .request_tag_i, .request_data_i,
      .reply_valid_o(reply_valid), .reply_tag_o(reply_tag), .reply_data_o(reply_data),
      .ctl_valid_i, .ctl_write_i, .ctl_target_i(8'd0), .ctl_address_i, .ctl_data_i,
      .ctl_done_o(ctl_done), .ctl_data_o(ctl_data),
      .access_read_o(access_read), .access_address_o(access_address), .access_data_i,
      .access_write_o(access_write), .access_write_address_o(access_write_address),
      .access_write_data_o(access_write_data),
      .read_valid_o(read_valid), .read_address_o(read_address), .read_data_i,
      .write_valid_o(write_valid), .write_address_o(write_address), .write_data_o(write_data),
      .hold_i
  );

  logic due, due_ctl;  // a request, or an access of the control plane, is under way
  single_request_model #(.TagBits(1), .CtlBits(CtlBits)) i_model (
      .clk_i, .rst_i, .request_valid_i, .request_ready_i(request_ready), .request_tag_i,
      .reply_valid_i(reply_valid), .reply_tag_i(reply_tag),
      .ctl_valid_i, .ctl_write_i, .ctl_address_i, .ctl_data_i, .ctl_done_i(ctl_done),
      .clear_i(state == CLEAR), .idle_i(state == IDLE), .is_control_i(i_dut.is_control),
      .control_turn_i(i_dut.control_turn),
      .from_control_i(i_dut.from_control), .tag_i(i_dut.tag),
      .started_o(), .take_o(), .take_ctl_o(), .due_o(due), .due_ctl_o(due_ctl)
  );

  // Whether a word belongs to what the operation moves.
  function automatic logic is_mine(logic [AddressBits-1:0] address);
    logic [WordBits-1:0] word;
    word = address[WordBits-1:0];
    if (address[AddressBits-1] != i_dut.current) return 1'b0;
    if (op == PUT || op == GET) return word[WordBits-1:5] == '0 && word[4:1] == i_dut.count[3:0];
    return word >= WordBits'(32) && word < WordBits'(32 + BodyWords);
  endfunction

  logic moves, of_body;
  logic [WordBits:0] next, last;  // the next word, and the one after the last
  assign moves = state == READ || state == WRITE || state == COPY;
  assign of_body = op == STORE || op == FETCH;
  assign next = (WordBits + 1)'(i_dut.address[WordBits-1:0]);
  assign last = next + (WordBits + 1)'(i_dut.left) + (WordBits + 1)'(i_dut.copies);
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      Hold_A : assert (!(hold_i && request_ready));
      Read_A : assert (!read_valid || (due && (op == GET || op == FETCH) && is_mine(read_address))
          || (due_ctl && op == PEEK && read_address == ctl_address_i[AddressBits-1:0]));
      Write_A : assert (!write_valid || (due && (op == PUT || op == STORE)
          && is_mine(write_address))
          || (due_ctl && op == POKE && write_address == ctl_address_i[AddressBits-1:0]));
      Body_Read_A : assert (!access_read || (due && op == STORE));
      Body_Write_A : assert (!access_write || (due && op == FETCH));

      // Invariants for the induction.
      if (state != CLEAR && state != IDLE) begin
        Kind_A : assert ((op >= FirstOfControl) == i_dut.from_control);
      end
      Read_Kind_A : assert (state != READ || op == GET || op == FETCH || op == PEEK);
      Arrive_Kind_A : assert (state != ARRIVE || op == GET || op == FETCH || op == PEEK);
      Write_Kind_A : assert (state != WRITE || op == PUT || op == POKE);
      Copy_Kind_A : assert ((state != COPY && state != COPIED) || op == STORE);
      Body_Kind_A : assert (state != BODY || of_body);
      Copies_A : assert (!i_dut.copies || state == COPY || state == COPIED);
      Copied_A : assert (state != COPIED || (i_dut.copies && i_dut.left == '0));
      if (moves || state == COPIED) begin
        Left_A : assert (state == COPIED || i_dut.left != '0);
        if (op >= FirstOfControl) begin
          One_A : assert (i_dut.left == WordBits'(1)
              && i_dut.address == ctl_address_i[AddressBits-1:0]);
        end else begin
          Slot_A : assert (i_dut.address[AddressBits-1] == i_dut.current);
          if (of_body) begin
            Words_A : assert (next >= (WordBits + 1)'(32)
                && last <= (WordBits + 1)'(32 + BodyWords));
          end else begin
            Two_A : assert (last == (WordBits + 1)'({i_dut.count[3:0], 1'b0}) + (WordBits + 1)'(2)
                && i_dut.left <= WordBits'(2));
          end
        end
      end
    end
  end
endmodule
