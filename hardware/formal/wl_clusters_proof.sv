// Proof of wl_distributor and wl_gatherer together, around any clusters that keep the order of
// their own packets, and have room and pause at will. Headers of one beat or two enter; some of two
// beats leave as a copy and a last record of a beat each. What enters leaves, once, whole and in
// order, from the cluster that got it; an offer stays until it is taken; and no beat waits that may
// leave. The free places that the clusters report are arbitrary: the order does not depend on them.
//
// A queue of all beats under way is the model: a cluster offers the first beat in it that went to
// that cluster. Unbounded, by induction: the relations at the end tie the turns and the recorded
// order to the packets in the queue.
module wl_clusters_proof #(
    parameter int unsigned Clusters = 2,
    parameter int unsigned Policy = 0
) (
    input logic clk_i,
    input logic rst_i,
    input logic header_valid_i,
    input logic header_last_i,
    input logic header_split_i,  // its two beats leave as a copy and a last record
    input logic header_data_i,
    input logic [Clusters-1:0] room_i,
    input logic [Clusters*2-1:0] free_i,
    input logic [Clusters-1:0] pause_i,
    input logic beat_ready_i
);
  localparam int unsigned Room = 5;        // beats that clusters and gatherer store
  localparam int unsigned OrderDepth = 2;
  localparam int unsigned Bits = wl_pkg::bits(Clusters);
  localparam int unsigned Width = Bits + 3;

  logic header_ready, midst, kept_split, split;
  logic [Clusters-1:0] cluster_valid, cluster_ready;
  logic [7:0] cluster_data;
  logic cluster_first, cluster_last, cluster_info;
  logic order_valid, order_ready;
  logic [Bits-1:0] order_cluster, owner, given;
  assign split = midst ? kept_split : header_split_i && !header_last_i;
  wl_distributor #(
      .Clusters(Clusters), .DataBytes(1), .InfoBits(1), .FreeBits(2), .Policy(Policy)
  ) i_distributor (
      .clk_i, .rst_i,
      .header_valid_i, .header_ready_o(header_ready), .header_data_i({7'd0, header_data_i}),
      .header_first_i(!midst),
      .header_last_i, .header_info_i(split),
      .cluster_valid_o(cluster_valid), .cluster_ready_i(cluster_ready),
      .cluster_data_o(cluster_data),
      .cluster_first_o(cluster_first), .cluster_last_o(cluster_last), .cluster_info_o(cluster_info),
      .free_i,
      .order_valid_o(order_valid), .order_ready_i(order_ready), .order_cluster_o(order_cluster)
  );

  logic [Clusters-1:0] out_valid, out_ready, out_last;
  logic [Clusters*8-1:0] out_data;
  logic [Clusters-1:0][wl_pkg::ResultBits-1:0] out_result;
  logic beat_valid, beat_last;
  logic [7:0] beat_data;
  wl_pkg::result_t beat_result;
  wl_gatherer #(
      .Clusters(Clusters), .DataBytes(1), .Policy(Policy), .OrderDepth(OrderDepth)
  ) i_gatherer (
      .clk_i, .rst_i,
      .order_valid_i(order_valid), .order_ready_o(order_ready), .order_cluster_i(order_cluster),
      .cluster_valid_i(out_valid), .cluster_ready_o(out_ready), .cluster_data_i(out_data),
      .cluster_last_i(out_last), .cluster_result_i(out_result),
      .beat_valid_o(beat_valid), .beat_ready_i, .beat_data_o(beat_data),
      .beat_last_o(beat_last), .beat_result_o(beat_result)
  );

  // The beats under way, the oldest lowest: that of the gatherer's register, if it is valid, and
  // those of the clusters. Each with its cluster, `more`, `last` and a bit of data.
  logic [$clog2(Room+2)-1:0] stored;
  logic [Room*Width-1:0] words;
  logic [Room:0][Width-1:0] queue;  // without the beat in the gatherer's register
  logic [3:0] waiting;
  assign queue = ((Room + 1) * Width)'(words) >> (beat_valid ? Width : 0);
  assign waiting = 4'(stored) - 4'(beat_valid);

  logic [Clusters-1:0] put, take;
  for (genvar c = 0; c < Clusters; c++) begin : g_cluster
    logic there, held;
    wl_pkg::result_t result;
    logic [Width-1:0] own;  // the first beat of the cluster
    always_comb begin
      there = 1'b0;
      own = '0;
      for (int unsigned i = 0; i < Room; i++) begin
        if (!there && i < 32'(waiting) && queue[i][3+:Bits] == Bits'(c)) begin
          there = 1'b1;
          own = queue[i];
        end
      end
      result = '0;
      result.more = own[2];
      out_result[c] = result;
    end
    // A cluster has room for a whole header, or the rest of one.
    assign cluster_ready[c] = (midst && owner == Bits'(c))
        || (room_i[c] && 32'(stored) + 2 <= Room);
    assign put[c] = cluster_valid[c] && cluster_ready[c];
    assign out_valid[c] = there && (held || !pause_i[c]);
    assign {out_last[c], out_data[8*c+:8]} = {own[1], 7'd0, own[0]};
    assign take[c] = out_valid[c] && out_ready[c];
    always_ff @(posedge clk_i) begin
      held <= !rst_i && out_valid[c] && !out_ready[c];
      if (!rst_i) Order_A : assert (!take[c] || queue[0][3+:Bits] == Bits'(c));
    end
  end

  always_comb begin
    given = '0;
    for (int unsigned c = 0; c < Clusters; c++) if (put[c]) given |= Bits'(c);
  end
  stream_model #(.Width(Width), .Depth(Room)) i_model (
      .clk_i, .rst_i, .push_i(header_valid_i && header_ready),
      .push_data_i({given, cluster_info && !cluster_last, cluster_last || cluster_info,
          cluster_data[0]}),
      .out_valid_i(beat_valid), .out_ready_i(beat_ready_i),
      .out_data_i({words[3+:Bits], beat_result.more, beat_last, beat_data[0]}),
      .count_o(stored), .words_o(words)
  );
  stream_rule #(.Width(3)) i_out (
      .clk_i, .rst_i, .valid_i(beat_valid), .ready_i(beat_ready_i),
      .payload_i({beat_result.more, beat_last, beat_data[0]})
  );

  // The clusters of the packets that have not left them as a whole, in order.
  logic [Room:0][Bits-1:0] owners;
  logic [3:0] packets;
  always_comb begin
    owners = '0;
    packets = '0;
    for (int unsigned i = 0; i < Room; i++) begin
      if (i < 32'(waiting) && queue[i][1] && !queue[i][2]) begin
        owners[packets] = queue[i][3+:Bits];
        packets = packets + 4'd1;
      end
    end
    if (midst) begin
      owners[packets] = owner;
      packets = packets + 4'd1;
    end
  end

  logic may_leave;
  logic [1:0] waited;
  assign may_leave = waiting != 0 && out_valid[queue[0][3+:Bits]] && (!beat_valid || beat_ready_i);

  logic started = 1'b0;
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    Reset_M : assume (rst_i == !started);
    Short_M : assume (!header_valid_i || header_last_i || !midst);
    Split_M : assume (!header_valid_i || !midst || header_split_i == kept_split);
    if (rst_i) begin
      midst <= 1'b0;
      waited <= '0;
    end else begin
      if (header_valid_i && header_ready) begin
        midst <= !header_last_i;
        kept_split <= split;
        owner <= given;
        Whole_A : assert ($onehot(put) && (!midst || given == owner));
        Passed_A : assert ({cluster_data, cluster_first, cluster_last}
            == {7'd0, header_data_i, !midst, header_last_i});
      end else begin
        Nothing_A : assert (put == '0);
      end
      // A record is in use two cycles after it was made.
      waited <= may_leave && take == '0 ? waited + 2'd1 : '0;
      Progress_A : assert (waited < 2'd2);

      // The registers match the model.
      Room_A : assert (32'(stored) + 32'(midst) <= Room && stored >= beat_valid);
      Midst_A : assert (i_distributor.midst == midst
          && (!midst || i_distributor.chosen == Clusters'(1) << owner));
      Owner_A : assert (!midst
          || (i_distributor.i_balancer.chosen && i_distributor.i_balancer.owner == owner));
      Known_A : assert (32'(owner) < Clusters || !midst);
    end
  end

  // In the queue, the rest of a packet follows its begin, from the same cluster.
  for (genvar i = 0; i < Room; i++) begin : g_word
    always_ff @(posedge clk_i) begin
      if (!rst_i && started && i < 32'(waiting)) begin
        Cluster_A : assert (32'(queue[i][3+:Bits]) < Clusters);
        Follows_A : assert ((queue[i][1] && !queue[i][2])
            || (i + 1 < 32'(waiting) ? queue[i+1][3+:Bits] == queue[i][3+:Bits]
                : midst && queue[i][3+:Bits] == owner));
      end
    end
  end

  if (Policy == 0) begin : g_turns
    for (genvar i = 0; i <= Room; i++) begin : g_packet
      always_ff @(posedge clk_i) begin
        if (!rst_i && started) begin
          Turn_A : assert (i >= 32'(packets)
              || 32'(owners[i]) == (32'(i_gatherer.turn) + i) % Clusters);
        end
      end
    end
    always_ff @(posedge clk_i) begin
      if (!rst_i && started) begin
        Next_A : assert (32'(i_distributor.i_balancer.choice)
            == (32'(i_gatherer.turn) + 32'(packets) - 32'(midst)) % Clusters);
        Turns_A : assert (32'(i_gatherer.turn) < Clusters);
        Choice_A : assert (!i_distributor.i_balancer.chosen
            || i_distributor.i_balancer.owner == i_distributor.i_balancer.choice);
      end
    end
  end else begin : g_recorded
    for (genvar i = 0; i < OrderDepth; i++) begin : g_record
      logic [0:0] place;
      assign place = i_gatherer.g_recorded.i_order.head + 1'(i);
      always_ff @(posedge clk_i) begin
        if (!rst_i && started) begin
          Stored_A : assert (i >= 32'(i_gatherer.g_recorded.i_order.stored)
              || i_gatherer.g_recorded.i_order.i_ram.memory[place]
                  == owners[32'(i_gatherer.turn_valid)+i]);
        end
      end
    end
    always_ff @(posedge clk_i) begin
      if (!rst_i && started) begin
        Records_A : assert (32'(i_gatherer.g_recorded.i_order.fill_o) == 32'(packets));
        First_A : assert (!i_gatherer.turn_valid || i_gatherer.turn == owners[0]);
        Places_A : assert (32'(i_gatherer.g_recorded.i_order.tail)
            == (32'(i_gatherer.g_recorded.i_order.head)
                + 32'(i_gatherer.g_recorded.i_order.stored)) % OrderDepth);
      end
    end
  end
endmodule
