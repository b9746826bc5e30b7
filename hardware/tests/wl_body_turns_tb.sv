// Test bench of wl_body_turns in front of services that read and write one memory without
// arbitration, several times for each request: every request is answered once, in order; each
// service sees what the others have written; no service waits for more than one turn of each other;
// a service that is alone is served in each cycle. Over numbers of services.
module wl_body_turns_tb;
  localparam int unsigned Cases = 3;

  logic clk, rst;
  logic [Cases-1:0] done;
  tb_end #(.Cases(Cases)) i_end (.clk_o(clk), .rst_o(rst), .done_i(done));
  turns_case #(.Services(1)) i_one (.clk_i(clk), .rst_i(rst), .done_o(done[0]));
  turns_case #(.Services(2)) i_two (.clk_i(clk), .rst_i(rst), .done_o(done[1]));
  turns_case #(.Services(5), .MostOpen(3)) i_five (.clk_i(clk), .rst_i(rst), .done_o(done[2]));
endmodule

module turns_case #(
    parameter int unsigned Services = 2,
    parameter int unsigned MostOpen = 15
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic done_o
);
  localparam int unsigned AddressBits = 3;
  localparam int unsigned Bits = 32;
  localparam int unsigned Delay = 4;  // cycles from a service's read to its write and reply

  logic send, window;
  int unsigned idle, stall;
  tb_pressure #(.Cycles(800)) i_pressure (
      .clk_i, .rst_i, .send_o(send), .idle_o(idle), .stall_o(stall), .window_o(window), .done_o
  );

  logic [Services-1:0] request_valid, request_ready, service_valid, service_ready, reply_valid,
      read, write;
  logic [Services*AddressBits-1:0] address, write_address;
  logic [Services*Bits-1:0] write_data;
  logic access_read, access_write;
  logic [AddressBits-1:0] access_address, access_write_address;
  logic [Bits-1:0] access_write_data, memory[8], data;
  wl_body_turns #(
      .Services(Services), .DataBytes(Bits / 8), .AddressBits(AddressBits), .MostOpen(MostOpen)
  ) i_dut (
      .clk_i, .rst_i, .request_valid_i(request_valid), .request_ready_o(request_ready),
      .service_valid_o(service_valid),
      .service_ready_i(service_ready), .reply_valid_i(reply_valid), .read_i(read),
      .address_i(address), .write_i(write),
      .write_address_i(write_address), .write_data_i(write_data), .access_read_o(access_read),
      .access_address_o(access_address),
      .access_write_o(access_write), .access_write_address_o(access_write_address),
      .access_write_data_o(access_write_data)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) foreach (memory[i]) memory[i] <= '0;
    else if (access_write) memory[access_write_address] <= access_write_data;
    if (access_read) data <= memory[access_address];
    if (!rst_i && $countones(read) > 1) $fatal(1, "%m: services %b read at once", read);
    if (!rst_i && $countones(write) > 1) $fatal(1, "%m: services %b write at once", write);
  end

  // Service i adds i + 1 to a word: it reads when it accepts a request, and writes when it replies.
  // Requests to one service in close succession are for different words; a real service would
  // resolve such conflicts itself.
  int unsigned sums_of[Services][8], known[8];
  for (genvar i = 0; i < Services; i++) begin : g_service
    int unsigned asked, answered, waited, others;
    logic [Delay-1:0] pipe_valid;
    logic [Delay-1:0][AddressBits-1:0] pipe_address;
    logic [Delay-1:0][Bits-1:0] pipe_data;
    logic take;
    assign take = service_valid[i] && service_ready[i];
    assign read[i] = take;
    assign address[i*AddressBits+:AddressBits] = AddressBits'(asked);
    assign reply_valid[i] = pipe_valid[Delay-1];
    assign write[i] = pipe_valid[Delay-1];
    assign write_address[i*AddressBits+:AddressBits] = pipe_address[Delay-1];
    assign write_data[i*Bits+:Bits] = pipe_data[Delay-1] + Bits'(i + 1);
    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        request_valid[i] <= 1'b0;
        service_ready[i] <= 1'b0;
        pipe_valid <= '0;
        asked <= 0;
        answered <= 0;
        waited <= 0;
        others <= 0;
      end else begin
        if (!request_valid[i] || request_ready[i]) begin
          request_valid[i] <= send && (idle != 0 || i == 0) && !tb_pkg::chance(idle);
        end
        service_ready[i] <= !tb_pkg::chance(stall);
        pipe_valid <= {pipe_valid[Delay-2:0], take};
        pipe_address <= {pipe_address[Delay-2:0], AddressBits'(asked)};
        pipe_data[Delay-1:2] <= pipe_data[Delay-2:1];
        pipe_data[1] <= data;
        if (take !== (request_valid[i] && request_ready[i])) begin
          $fatal(1, "%m: a request is lost or made up");
        end
        asked <= asked + 32'(take);
        answered <= answered + 32'(reply_valid[i]);
        // While a service waits, each other service is served at most once, except for requests
        // that were already under way.
        if (take || !request_valid[i]) others <= 0;
        else others <= others + 32'((service_valid & service_ready) != '0);
        if (others > Services) $fatal(1, "%m: %0d requests of others came first", others);
        if (i === 0 && window && MostOpen > Delay && request_valid[0] && !request_ready[0]) begin
          $fatal(1, "%m: it waits alone at full speed");
        end
        if (done_o && (asked !== answered || asked < 50)) begin
          $fatal(1, "%m: %0d answers to %0d requests", answered, asked);
        end
      end
    end
    // At the end the words hold the sum of all additions.
    always_comb begin
      for (int unsigned word = 0; word < 8; word++) begin
        sums_of[i][word] = (asked + 7 - word) / 8 * (i + 1);
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_i && done_o) begin
      for (int unsigned word = 0; word < 8; word++) begin
        known[word] = 0;
        for (int unsigned i = 0; i < Services; i++) known[word] += sums_of[i][word];
        if (memory[word] !== known[word]) begin
          $fatal(1, "%m: word %0d is %0d, not %0d", word, memory[word], known[word]);
        end
      end
    end
  end
endmodule
