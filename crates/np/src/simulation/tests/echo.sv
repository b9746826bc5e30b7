// A machine with the ports of a network processor, and its sequencer, that sends each packet back.
// The first byte of a packet selects its fate: 1 drop with the next three bytes as reason, 2 emit a
// copy (of one beat) and finish, 3 to the control processor, 4 done, 5 stop the simulation, 6 never
// accept it, otherwise finish. A lane accepts one beat every `+interval=` cycles, once it has cleared
// its memory for 2,000 cycles after the reset.
module echo_lane (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic [511:0] data_i,
  input  logic [63:0]  keep_i,
  input  logic         valid_i,
  output logic         ready_o,
  input  logic         last_i,
  input  logic [79:0]  user_i,
  output logic [511:0] data_o,
  output logic [63:0]  keep_o,
  output logic         valid_o,
  input  logic         ready_i,
  output logic         last_o,
  output logic [42:0]  user_o,
  output logic         event_valid_o,
  output logic [26:0]  event_o,
  output logic [2:0]   level_o,
  output logic [31:0]  packets_o
);
  logic [7:0] pause, interval;
  logic [10:0] clearing;
  logic first, again, stuck, mute, take;
  initial if ($value$plusargs("interval=%d", interval) == 0) interval = 8'd1;
  assign stuck = valid_i && first && data_i[7:0] == 8'd6;
  assign ready_o = clearing == 0 && pause == 0 && !again && (!valid_o || ready_i) && !stuck;
  assign take = valid_i && ready_o;
  assign level_o = {2'b0, valid_o} + {1'b0, again, 1'b0};

  always_ff @(posedge clk_i) begin
    event_valid_o <= 1'b0;
    if (clearing != 0) clearing <= clearing - 11'd1;
    if (pause != 0) pause <= pause - 8'd1;
    if (valid_o && ready_i) begin
      valid_o <= again;
      again <= 1'b0;
      user_o[42:40] <= 3'd1;
    end
    if (take) begin
      first <= last_i;
      pause <= interval - 8'd1;
      if (last_i) packets_o <= packets_o + 1;
      if (first && data_i[7:0] == 8'd1) begin
        mute <= !last_i;
        event_valid_o <= 1'b1;
        event_o <= {3'd3, data_i[15:8], data_i[23:16], data_i[31:24]};
      end else if (first && data_i[7:0] == 8'd4) begin
        mute <= !last_i;
        event_valid_o <= 1'b1;
        event_o <= {3'd5, 24'd0};
      end else if (mute) begin
        mute <= !last_i;
      end else begin
        valid_o <= 1'b1;
        data_o <= data_i;
        keep_o <= keep_i;
        last_o <= last_i;
        if (first) begin
          again <= data_i[7:0] == 8'd2;
          user_o <= {data_i[7:0] == 8'd2 ? 3'd2 : data_i[7:0] == 8'd3 ? 3'd4 : 3'd1, user_i[47:16] == 0 ? 24'd0 : 24'd5, user_i[15:0]};
        end
      end
      if (first && data_i[7:0] == 8'd5) $fatal(1, "asked to stop");
    end
    if (rst_i) begin
      valid_o <= 1'b0;
      event_valid_o <= 1'b0;
      pause <= 8'd0;
      clearing <= 11'd1999;
      first <= 1'b1;
      again <= 1'b0;
      mute <= 1'b0;
      packets_o <= 0;
    end
  end
endmodule

module echo #(
  parameter int unsigned Lanes = `LANES
) (
  input  logic                 clk_i,
  input  logic                 rst_i,
  input  logic                 clk_mem_i,
  input  logic [Lanes*512-1:0] s_axis_tdata_i,
  input  logic [Lanes*64-1:0]  s_axis_tkeep_i,
  input  logic [Lanes-1:0]     s_axis_tvalid_i,
  output logic [Lanes-1:0]     s_axis_tready_o,
  input  logic [Lanes-1:0]     s_axis_tlast_i,
  input  logic [Lanes*80-1:0]  s_axis_tuser_i,
  output logic [Lanes*512-1:0] m_axis_tdata_o,
  output logic [Lanes*64-1:0]  m_axis_tkeep_o,
  output logic [Lanes-1:0]     m_axis_tvalid_o,
  input  logic [Lanes-1:0]     m_axis_tready_i,
  output logic [Lanes-1:0]     m_axis_tlast_o,
  output logic [Lanes*43-1:0]  m_axis_tuser_o,
  output logic [Lanes-1:0]     event_valid_o,
  output logic [Lanes*27-1:0]  event_o,
  input  logic [31:0]          s_axil_awaddr_i,
  input  logic                 s_axil_awvalid_i,
  output logic                 s_axil_awready_o,
  input  logic [31:0]          s_axil_wdata_i,
  input  logic [3:0]           s_axil_wstrb_i,
  input  logic                 s_axil_wvalid_i,
  output logic                 s_axil_wready_o,
  output logic [1:0]           s_axil_bresp_o,
  output logic                 s_axil_bvalid_o,
  input  logic                 s_axil_bready_i,
  input  logic [31:0]          s_axil_araddr_i,
  input  logic                 s_axil_arvalid_i,
  output logic                 s_axil_arready_o,
  output logic [31:0]          s_axil_rdata_o,
  output logic [1:0]           s_axil_rresp_o,
  output logic                 s_axil_rvalid_o,
  input  logic                 s_axil_rready_i,
  output logic [Lanes*3:0]     probe_o
);
  logic [Lanes*512-1:0] pipe_data;
  logic [Lanes*64-1:0]  pipe_keep;
  logic [Lanes-1:0]     pipe_valid, pipe_ready, pipe_last;
  logic [Lanes*80-1:0]  pipe_user;
  wl_sequencer #(
    .Lanes(Lanes), .DataBytes(64), .UserBits(80)
  ) i_sequencer (
    .clk_i, .rst_i,
    .s_tvalid_i(s_axis_tvalid_i), .s_tready_o(s_axis_tready_o), .s_tdata_i(s_axis_tdata_i), .s_tkeep_i(s_axis_tkeep_i),
    .s_tlast_i(s_axis_tlast_i), .s_tuser_i(s_axis_tuser_i),
    .pipe_valid_o(pipe_valid), .pipe_ready_i(pipe_ready), .pipe_data_o(pipe_data), .pipe_keep_o(pipe_keep),
    .pipe_last_o(pipe_last), .pipe_user_o(pipe_user), .pipe_sequence_o(),
    .order_valid_o(), .order_ready_i(1'b1), .order_lanes_o(), .stall_o()
  );
  logic [Lanes*32-1:0] packets;
  for (genvar i = 0; i < Lanes; i++) begin : gen_lane
    echo_lane i_lane (
      .clk_i, .rst_i,
      .data_i(pipe_data[i*512+:512]), .keep_i(pipe_keep[i*64+:64]), .valid_i(pipe_valid[i]), .ready_o(pipe_ready[i]),
      .last_i(pipe_last[i]), .user_i(pipe_user[i*80+:80]),
      .data_o(m_axis_tdata_o[i*512+:512]), .keep_o(m_axis_tkeep_o[i*64+:64]), .valid_o(m_axis_tvalid_o[i]),
      .ready_i(m_axis_tready_i[i]), .last_o(m_axis_tlast_o[i]), .user_o(m_axis_tuser_o[i*43+:43]),
      .event_valid_o(event_valid_o[i]), .event_o(event_o[i*27+:27]),
      .level_o(probe_o[1+i*3+:3]), .packets_o(packets[i*32+:32])
    );
  end
  assign probe_o[0] = |s_axis_tvalid_i;

  // From byte 4096 on lie the registers of a control port. Target 1 answers after as many cycles as
  // ADDRESS says, with the double of ADDRESS; commands fail after 300 cycles.
  logic to_control;
  assign to_control = s_axil_awvalid_i ? s_axil_awaddr_i[12] : s_axil_araddr_i[12];
  logic [1:0] c_bresp, c_rresp, w_bresp, w_rresp;
  logic [31:0] c_rdata, w_rdata;
  logic c_awready, c_wready, c_bvalid, c_arready, c_rvalid;
  logic w_awready, w_wready, w_bvalid, w_arready, w_rvalid;
  logic ctl_valid, ctl_done;
  logic [7:0] ctl_target;
  logic [31:0] ctl_address, waited;
  wl_axil_control #(
    .CtlBits(32), .Targets(3), .Timeout(300)
  ) i_control (
    .clk_i, .rst_i,
    .s_axil_awvalid_i(s_axil_awvalid_i && to_control), .s_axil_awready_o(c_awready), .s_axil_awaddr_i({4'd0, s_axil_awaddr_i[11:0]}),
    .s_axil_wvalid_i(s_axil_wvalid_i && to_control), .s_axil_wready_o(c_wready), .s_axil_wdata_i, .s_axil_wstrb_i,
    .s_axil_bvalid_o(c_bvalid), .s_axil_bready_i, .s_axil_bresp_o(c_bresp),
    .s_axil_arvalid_i(s_axil_arvalid_i && to_control), .s_axil_arready_o(c_arready), .s_axil_araddr_i({4'd0, s_axil_araddr_i[11:0]}),
    .s_axil_rvalid_o(c_rvalid), .s_axil_rready_i, .s_axil_rdata_o(c_rdata), .s_axil_rresp_o(c_rresp),
    .ctl_valid_o(ctl_valid), .ctl_write_o(), .ctl_target_o(ctl_target), .ctl_address_o(ctl_address), .ctl_data_o(),
    .ctl_done_i(ctl_done), .ctl_data_i(ctl_address << 1)
  );
  assign ctl_done = ctl_valid && ctl_target == 8'd1 && waited == ctl_address;
  always_ff @(posedge clk_i) waited <= ctl_valid && !ctl_done ? waited + 1 : 0;
  assign s_axil_awready_o = to_control ? c_awready : w_awready;
  assign s_axil_wready_o = to_control ? c_wready : w_wready;
  assign s_axil_arready_o = to_control ? c_arready : w_arready;
  assign s_axil_bvalid_o = c_bvalid || w_bvalid;
  assign s_axil_bresp_o = c_bvalid ? c_bresp : w_bresp;
  assign s_axil_rvalid_o = c_rvalid || w_rvalid;
  assign s_axil_rresp_o = c_rvalid ? c_rresp : w_rresp;
  assign s_axil_rdata_o = c_rvalid ? c_rdata : w_rdata;

  // Words 0 to 7 are from the image and can be written; word 8 is the number of rising edges of the
  // memory clock in a core cycle, and word 9 the number of packets that lane 0 has received. There
  // are no other words.
  logic [31:0] words[8];
  logic [31:0] rises, seen, ratio;
  always_ff @(posedge clk_mem_i) rises <= rst_i ? 0 : rises + 1;
  string name;
  initial if ($value$plusargs("wl_image_Echo=%s", name)) $readmemh(name, words);

  assign w_awready = s_axil_wvalid_i && !w_bvalid && !to_control;
  assign w_wready = s_axil_awvalid_i && !w_bvalid && !to_control;
  assign w_arready = !w_rvalid && !to_control;
  always_ff @(posedge clk_i) begin
    seen <= rises;
    ratio <= rises - seen;
    if (s_axil_bready_i) w_bvalid <= 1'b0;
    if (s_axil_rready_i) w_rvalid <= 1'b0;
    if (s_axil_awvalid_i && w_awready) begin
      if (s_axil_wstrb_i == 4'hf) words[s_axil_awaddr_i[4:2]] <= s_axil_wdata_i;
      w_bvalid <= 1'b1;
      w_bresp <= s_axil_awaddr_i < 32 ? 2'd0 : 2'd2;
    end
    if (s_axil_arvalid_i && w_arready) begin
      w_rvalid <= 1'b1;
      w_rresp <= s_axil_araddr_i < 40 ? 2'd0 : 2'd2;
      w_rdata <= s_axil_araddr_i < 32 ? words[s_axil_araddr_i[4:2]] : s_axil_araddr_i == 32 ? ratio : packets[31:0];
    end
    if (rst_i) begin
      w_bvalid <= 1'b0;
      w_rvalid <= 1'b0;
    end
  end
endmodule
