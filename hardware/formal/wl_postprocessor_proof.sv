// Proof of wl_postprocessor, for all time, for windows of up to two beats that begin at any byte of
// a row, and bodies of up to three: items leave once, whole and in order, each byte at its place,
// with no gap between window and body; copies have the same body again; events have no byte; bodies
// are read no further than necessary, and freed with the last item; an offer stays until it is
// taken; a beat or event leaves in each cycle as long as headers and bodies are there. One byte is
// marked, which may be any of any window or body; it must be at its place, and nowhere else. This
// is enough, because the module does not look at the data. Items have any two results in turn.
// Headers, bodies and the receiver pause at will.
//
// With SkipBits, items with an empty window begin at any byte of their body, at most in its second
// beat. The invariants do not cover this case, which is proved for runs from reset.
module wl_postprocessor_proof #(
    parameter int unsigned SkipBits = 0,
    localparam int unsigned ReadBits = SkipBits == 0 ? 1 : SkipBits
) (
    input logic clk_i,
    input logic rst_i,
    input logic [1:0][2:0] skip_i,
    input logic [1:0][2:0] window_i,
    input logic [1:0][3:0] body_i,
    input logic [1:0][1:0] start_i,
    input logic [1:0] drops_i,
    input logic [1:0] more_i,
    input logic [6:0] marked_i,
    input logic beat_valid_i,
    input logic body_valid_i,
    input logic ready_i
);
  localparam int unsigned DataBytes = 4;
  localparam int unsigned ByteBits = 2;

  // Of items with an even and an odd number.
  logic [1:0][2:0] window;
  logic [1:0][3:0] body;  // bytes of the body that leave
  logic [1:0][1:0] start;
  logic [1:0][2:0] skip;  // bytes of the body before them
  logic [1:0] drops, more;
  logic [6:0] marked;  // {in a body, number of item or body, place}
  always_ff @(posedge clk_i) if (rst_i) {window, body, start, skip, drops, more, marked} <=
      {window_i, body_i, start_i, skip_i, drops_i, more_i, marked_i};
  for (genvar i = 0; i < 2; i++) begin : g_item
    always_ff @(posedge clk_i) begin
      Lengths_M : assume (window_i[i] <= 3'd6 && body_i[i] <= 4'd9);
      Skip_M : assume (SkipBits == 0 ? skip_i[i] == '0
          : window_i[i] == '0 ? start_i[i] == '0 : skip_i[i] == '0);
      if (!rst_i) begin
        Lengths_A : assert (window[i] <= 3'd6 && body[i] <= 4'd9);
        Skip_A : assert (skip[i] == '0 || (SkipBits != 0 && {window[i], start[i]} == '0));
      end
    end
  end

  function automatic wl_pkg::result_t result_of(logic [2:0] item);
    result_of = '0;
    result_of.kind = drops[item[0]] ? wl_pkg::EXIT_DROP : wl_pkg::EXIT_FINISH;
    result_of.egress = 16'(item);
    result_of.start = 4'(start[item[0]]);
    result_of.window = 9'(window[item[0]]);
    result_of.length = 16'(window[item[0]]) + 16'(body[item[0]]);
    result_of.more = more[item[0]];
  endfunction

  // Beats of headers, as wl_header_deserializer makes them; bytes after the window are arbitrary,
  // which bit 1 stands for.
  logic [2:0] number;  // item that enters
  logic beat, beat_last, beat_ready;
  logic [8*DataBytes-1:0] beat_data;
  assign beat_last = drops[number[0]] || beat || window[number[0]] <= 3'(DataBytes);
  for (genvar i = 0; i < DataBytes; i++) begin : g_header
    logic [2:0] place;
    assign place = {beat, ByteBits'(i) - start[number[0]]};
    assign beat_data[8*i+:8] = SkipBits == 0 || window[number[0]] != '0
        ? header_byte(number, place) : i == 1 ? 8'(skip[number[0]]) : 8'd0;
  end
  function automatic logic [7:0] header_byte(logic [2:0] item, logic [2:0] place);
    return {6'd0, drops[item[0]] || place >= window[item[0]],
        {1'b0, item[1:0], 4'(place)} == marked};
  endfunction

  // The body buffer: an item ends with `rewind` or `free`.
  logic [2:0] ending;  // item that ends next
  logic [1:0] stored;  // body that is read
  logic [1:0] reads;   // beats of it that have been read
  logic rewind, free;
  logic [ReadBits-1:0] read;
  logic [8*DataBytes-1:0] body_data;
  for (genvar i = 0; i < DataBytes; i++) begin : g_body
    always_ff @(posedge clk_i) begin
      if (read != '0) body_data[8*i+:8] <= {7'd0, {1'b1, stored, reads, ByteBits'(i)} == marked};
    end
  end

  logic valid, is_event, out_more, last;
  logic [8*DataBytes-1:0] data;
  logic [DataBytes-1:0] keep;
  wl_pkg::sent_t sent;
  wl_postprocessor #(
      .DataBytes(DataBytes), .RowBytes(DataBytes), .SkipBits(SkipBits)
  ) i_dut (
      .clk_i, .rst_i,
      .beat_valid_i, .beat_ready_o(beat_ready), .beat_data_i(beat_data), .beat_last_i(beat_last),
      .beat_result_i(result_of(number)),
      .body_valid_i, .body_read_o(read), .body_data_i(body_data), .body_rewind_o(rewind),
      .body_free_o(free),
      .valid_o(valid), .ready_i, .event_o(is_event), .more_o(out_more), .data_o(data),
      .keep_o(keep), .last_o(last), .user_o(sent)
  );
  stream_rule #(.Width(9 * DataBytes + wl_pkg::SentBits + 3)) i_out (
      .clk_i, .rst_i, .valid_i(valid), .ready_i,
      .payload_i({is_event, out_more, last, sent, keep, data})
  );

  // ---- What leaves ----
  // A beat of an item: its number in the item; the body that the item has.
  typedef struct packed {
    logic [2:0] item;
    logic [1:0] stored;
    logic [1:0] beat;
  } beat_t;
  beat_t out;
  logic [3:0] total;  // bytes of the item
  wl_pkg::result_t result;
  logic out_last;
  assign result = result_of(out.item);
  assign total = drops[out.item[0]] ? '0 : result.length[3:0];
  assign out_last = 5'(total) <= 5'({out.beat, 2'd0}) + 5'(DataBytes);

  function automatic beat_t after(beat_t at, logic ends);
    after = at;
    after.beat = ends ? '0 : at.beat + 2'd1;
    after.item = at.item + 3'(ends);
    after.stored = at.stored + 2'(ends && !more[at.item[0]]);
  endfunction

  // The input is used: headers and bodies are there, unless the output stalls.
  logic feeds, accepted;
  logic [2:0] fed;  // beats that entered without a pause, up to four
  logic held_up;    // in the cycle before, an input waited for a beat that needs two
  assign accepted = (beat_valid_i && beat_ready) || read != '0;
  assign feeds = i_dut.in_body || (beat_valid_i && (!beat_last || body_valid_i));

  logic was_there;  // a body
  logic started = 1'b0;
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    Reset_M : assume (rst_i == !started);
    was_there <= !rst_i && body_valid_i && !free;
    if (rst_i) begin
      {number, beat, ending, stored, reads, out, fed, held_up} <= '0;
    end else begin
      if (was_there) There_M : assume (body_valid_i);
      if (beat_valid_i && beat_ready) begin
        beat <= !beat_last;
        number <= number + 3'(beat_last);
      end
      reads <= reads + 2'(read);
      if (rewind || free) begin
        ending <= ending + 3'd1;
        reads <= '0;
        stored <= stored + 2'(free);
        Ends_A : assert (body_valid_i && rewind == more[ending[0]] && free != rewind);
        Reads_A : assert (3'(reads) + 3'(read)
            == (drops[ending[0]] || body[ending[0]] == '0 ? 3'd0
            : 3'((5'(body[ending[0]]) + 5'(skip[ending[0]]) + 5'd3) >> ByteBits)));
      end
      if (read != '0) Body_A : assert (body_valid_i);

      if (valid) begin
        Item_A : assert (is_event == drops[out.item[0]] && out_more == more[out.item[0]]
            && sent.kind == result.kind && sent.egress == 16'(out.item) && sent.reason == '0);
        Last_A : assert (last == out_last);
        if (ready_i) out <= after(out, last);
      end
      fed <= !feeds ? '0 : fed == 3'd4 || !accepted ? fed : fed + 3'd1;
      held_up <= feeds && !accepted && !(valid && !ready_i);
      Rate_A : assert (SkipBits != 0 || fed != 3'd4 || valid);
      HeldUp_A : assert (SkipBits != 0 || !held_up || (valid && (accepted || !feeds || !ready_i)));
    end
  end

  // Whether the marked byte is this one of a window, or of a body.
  function automatic logic in_window(logic [2:0] item, logic [3:0] place);
    return {1'b0, item[1:0], place} == marked;
  endfunction
  function automatic logic in_body(logic [1:0] which, logic [1:0] read_beat, logic [1:0] place);
    return {1'b1, which, read_beat, place} == marked;
  endfunction

  for (genvar i = 0; i < DataBytes; i++) begin : g_byte
    logic [3:0] place, body_place;
    assign place = {out.beat, ByteBits'(i)};
    assign body_place = place - 4'(window[out.item[0]]) + 4'(skip[out.item[0]]);
    always_ff @(posedge clk_i) begin
      if (!rst_i && started && valid) begin
        Keep_A : assert (keep[i] == (place < total));
        Byte_A : assert (!keep[i] || data[8*i+:8] == 8'(place < 4'(window[out.item[0]])
            ? in_window(out.item, place) : in_body(out.stored, body_place[3:2], body_place[1:0])));
      end
    end
  end

  if (SkipBits == 0) begin : g_invariants
    // ---- Invariants: which beats are in the stages, and that the stages have what these need ----
    // What the module makes of a beat, before its last bytes spill into one more.
    typedef struct packed {
      logic last, header, has_body;
      logic [2:0] place;
      logic [3:0] count;
      logic [1:0] reads;  // the beat of the body
    } note_t;
    logic [1:0] drops_or_short, joins;
    logic [1:0][2:0] header_count;
    for (genvar i = 0; i < 2; i++) begin : g_shape
      assign drops_or_short[i] = drops[i] || window[i] <= 3'(DataBytes);
      assign header_count[i] = drops[i] ? '0 : drops_or_short[i] ? window[i] : window[i] - 3'd4;
      assign joins[i] = !drops[i] && body[i] != '0 && header_count[i] != 3'd4;
    end

    function automatic note_t note_of(beat_t at);
      logic which;
      logic [1:0] headers;
      logic [4:0] left;
      which = at.item[0];
      headers = drops_or_short[which] ? 2'd1 : 2'd2;
      note_of.header = at.beat < headers;
      note_of.reads = at.beat - headers + 2'(joins[which]);
      note_of.has_body = !note_of.header || (at.beat == headers - 2'd1 && joins[which]);
      left = !note_of.has_body ? '0 : 5'(body[which]) - 5'({note_of.reads, 2'd0});
      if (at.beat < headers - 2'd1) begin
        note_of.place = 3'd4;
        note_of.last = 1'b0;
      end else begin
        note_of.place = note_of.header ? header_count[which] : 3'(header_count[which][1:0]);
        note_of.last = note_of.has_body ? left <= 5'd4 : drops[which] || body[which] == '0;
      end
      note_of.count = 4'(note_of.place) + (left > 5'd4 ? 4'd4 : left[3:0]);
    endfunction

    beat_t before_out, behind_out, at_turned, at_source, at_asked, at_input;
    note_t before_note, out_note, turned_note, source_note, asked_note, input_note;
    always_comb begin
      out_note = note_of(out);
      before_out = out;
      before_out.beat = out.beat - 2'd1;
      before_note = note_of(before_out);
      behind_out = valid ? after(out, last) : out;
      at_turned = behind_out;
      // The first part of a beat that spills is at the output.
      if (i_dut.spilling) at_turned = out;
      turned_note = note_of(at_turned);
      at_source = i_dut.turned_valid ? after(at_turned, turned_note.last) : at_turned;
      source_note = note_of(at_source);
      at_asked = i_dut.source_valid ? after(at_source, source_note.last) : at_source;
      asked_note = note_of(at_asked);
      at_input = i_dut.asked_valid ? after(at_asked, asked_note.last) : at_asked;
      input_note = note_of(at_input);
    end

    function automatic logic same(logic is_event, logic more_too, logic is_last, logic header,
        logic has_body, logic [2:0] place, logic [3:0] count, wl_pkg::sent_t user, beat_t at);
      note_t note;
      note = note_of(at);
      return is_event == drops[at.item[0]] && more_too == more[at.item[0]] && is_last == note.last
          && header == note.header && has_body == note.has_body && place == note.place
          && count == note.count && user.kind == result_of(at.item).kind
          && user.egress == 16'(at.item) && user.reason == '0;
    endfunction

    always_ff @(posedge clk_i) begin
      if (!rst_i && started) begin
        Range_A : assert (out.beat == '0 || {out.beat, 2'd0} < total);
        Input_A : assert (at_input.item == ending && at_input.stored == stored);
        Midst_A : assert (i_dut.in_body == !input_note.header
            && number == ending + 3'(i_dut.in_body)
            && beat == (input_note.header && at_input.beat != '0)
            && reads == (i_dut.in_body ? input_note.reads : 2'd0));
        if (i_dut.in_body) begin
          Body_Left_A : assert (was_there
              && 5'(i_dut.body_left) == 5'(body[ending[0]]) - 5'({reads, 2'd0})
              && i_dut.body_left[15:4] == '0 && i_dut.body_left != '0);
          Body_Note_A : assert (same(i_dut.body_note.is_event, i_dut.body_note.more,
              input_note.last, i_dut.body_note.header, i_dut.body_note.body, i_dut.body_note.place,
              input_note.count, i_dut.body_note.user, at_input));
        end
        if (i_dut.asked_valid) begin
          Asked_A : assert ((!asked_note.header || i_dut.asked_start == start[at_asked.item[0]])
              && same(i_dut.asked.is_event, i_dut.asked.more, i_dut.asked.last, i_dut.asked.header,
              i_dut.asked.body, i_dut.asked.place, i_dut.asked.count, i_dut.asked.user, at_asked));
        end
        if (i_dut.source_valid) begin
          Source_A : assert ((!source_note.header || i_dut.start == start[at_source.item[0]])
              && i_dut.start_not == ~i_dut.start && i_dut.turn == source_note.place[1:0]
              && i_dut.turn_not == ~i_dut.turn
              && same(i_dut.source.is_event, i_dut.source.more, i_dut.source.last,
              i_dut.source.header, i_dut.source.body, i_dut.source.place, i_dut.source.count,
              i_dut.source.user, at_source));
        end
        if (i_dut.turned_valid) begin
          Turned_A : assert (i_dut.spills == (turned_note.last && turned_note.count > 4'd4)
              && same(i_dut.turned.is_event, i_dut.turned.more, i_dut.turned.last,
              i_dut.turned.header, i_dut.turned.body, i_dut.turned.place, i_dut.turned.count,
              i_dut.turned.user, at_turned));
        end
        // A beat at the output that is the last, but for what it spills.
        Spilling_A : assert (i_dut.spilling == (valid && !last && out_note.last));
        Spill_A : assert (!i_dut.spilling || (i_dut.turned_valid && i_dut.spills));
        // A beat that the output expects comes from a stage.
        Whole_A : assert (valid || out.beat == '0 || !before_note.last);
        Full_A : assert ((fed == '0 || i_dut.asked_valid) && (fed < 3'd2 || i_dut.source_valid)
            && (fed < 3'd3 || i_dut.turned_valid) && fed <= 3'd4);
        Held_A : assert (!held_up || i_dut.spilling);
      end
    end

    for (genvar i = 0; i < DataBytes; i++) begin : g_stage
      logic [1:0] asked_place, source_place, turned_place;
      assign asked_place = ByteBits'(i) - start[at_asked.item[0]];
      assign source_place = ByteBits'(i) - start[at_source.item[0]];
      assign turned_place = ByteBits'(i) - turned_note.place[1:0];
      always_ff @(posedge clk_i) begin
        if (!rst_i && started) begin
          if (i_dut.asked_valid && asked_note.header) begin
            AskedHeader_A : assert (i_dut.asked_header[8*i+:8] == header_byte(at_asked.item,
                {at_asked.beat[0], asked_place}));
          end
          if (i_dut.asked_valid && asked_note.has_body) begin
            AskedBody_A : assert (body_data[8*i+:8]
                == 8'(in_body(at_asked.stored, asked_note.reads, ByteBits'(i))));
          end
          if (i_dut.source_valid && source_note.header) begin
            SourceHeader_A : assert (i_dut.source_header[8*i+:8] == header_byte(at_source.item,
                {at_source.beat[0], source_place}));
          end
          if (i_dut.source_valid && source_note.has_body) begin
            SourceBody_A : assert (i_dut.source_body[8*i+:8]
                == 8'(in_body(at_source.stored, source_note.reads, ByteBits'(i))));
          end
          if (i_dut.turned_valid && turned_note.header) begin
            TurnedHeader_A : assert (i_dut.turned_header[8*i+:8] == header_byte(at_turned.item,
                {at_turned.beat[0], ByteBits'(i)}));
          end
          if (i_dut.turned_valid && turned_note.has_body) begin
            TurnedBody_A : assert (i_dut.turned_body[8*i+:8]
                == 8'(in_body(at_turned.stored, turned_note.reads, turned_place)));
          end
          // `carry` has what the beat needs that the output takes next.
          if (i < 32'(turned_note.place) && (i_dut.spilling || !turned_note.header)) begin
            Carry_A : assert (i_dut.carry[8*i+:8] == 8'(in_body(at_turned.stored,
                turned_note.reads - 2'(!i_dut.spilling), turned_place)));
          end
        end
      end
    end
  end
endmodule
