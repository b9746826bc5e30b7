// Packets on wide lanes: a free lane takes the next packet, unless it has had more beats than
// another one. A packet leaves, or is reported as an event, on the lane on which it entered.

// Input and output of one lane.
struct Lane {
    Sender in;
    Passage *passage = nullptr;  // the entering packet, among those inside
    std::deque<Passage> inside;  // packets that leave here, the oldest first
    std::vector<uint8_t> leaving;
    std::deque<Left> left;       // what has left here while an earlier packet had not
    uint64_t dealt = 0;          // packets that it was given
    uint64_t beats = 0;          // beats of these
};

struct Traffic : Line {
    static constexpr unsigned OUTPUTS = LANES;
    Lane lanes[LANES];
    std::deque<Packet> buffer;       // packets that have arrived
    std::deque<unsigned> order;      // the lane of each packet that was dealt, the oldest first

    using Line::Line;

    // Moves arrived packets to the buffer, or loses them.
    void arrive() {
        const size_t places = size_t(options.buffer) * LANES;
        arrive_at(places, [this](const Packet &) -> auto & { return buffer; });
    }

    // Gives packets to the free lanes by bytes: a lane with more beats than another one waits. If
    // it did not, there would be runs of packets on one lane. Packets leave in one order, so the
    // other lanes wait for the end of a run, and what leaves in runs makes room for new ones.
    //
    // The lower lanes come first: wl_sequencer numbers packets in the order in which they appear on
    // its lanes.
    void deal() {
        for (unsigned i = 0; i < LANES; ++i) {
            Lane &lane = lanes[i];
            if (buffer.empty()) return;
            if (lane.in.holds || lane.beats > least_beats() || chance(options.idle_percent))
                continue;
            lane.beats += beats_of(buffer.front());
            lane.in.begin(std::move(buffer.front()));
            buffer.pop_front();
            enters(lane.in.packet.number, i, lane.dealt++);
            lane.inside.push_back({lane.in.packet.number, lane.in.packet.arrived, NOT_ENTERED});
            lane.passage = &lane.inside.back();
            order.push_back(i);
        }
    }

    // The beats of the lane that has had the fewest.
    uint64_t least_beats() const {
        uint64_t least = lanes[0].beats;
        for (const Lane &lane : lanes) least = std::min(least, lane.beats);
        return least;
    }

    void drive_inputs() {
        for (unsigned i = 0; i < LANES; ++i) {
            Sender &in = lanes[i].in;
            // A packet that was assigned in this cycle must be offered in it, or it would lose its
            // place.
            if (in.wants() && (in.sent == 0 || !chance(options.idle_percent))) {
                put_beat(in, i);
                put(&top->s_axis_tuser_i, i * WL_USER_BITS, INGRESS_BITS, in.packet.ingress);
#if WL_ARRIVAL
                put(&top->s_axis_tuser_i, i * WL_USER_BITS + INGRESS_BITS, ARRIVAL_BITS,
                    in.packet.arrival_ns);
#endif
            }
            put(&top->s_axis_tvalid_i, i, 1, in.offering);
        }
    }

    void sample_inputs() {
        for (unsigned i = 0; i < LANES; ++i) {
            if (!was_taken(lanes[i].in, i)) continue;
            if (lanes[i].in.sent == 0) {
                lanes[i].passage->entered = now();
                ++inside;
            }
            lanes[i].in.advance();
        }
    }

    void leave(unsigned index, uint32_t kind, uint32_t reason, uint32_t egress) {
        Lane &lane = lanes[index];
        if (lane.inside.empty() || lane.inside.front().entered == NOT_ENTERED)
            throw Fault("something left the machine that never entered it");
        const Passage &passage = lane.inside.front();
        Left left;
        left.head = {passage.number, passage.arrived, passage.entered, now(), nullptr, 0, kind,
                     reason, egress};
        left.bytes = std::move(lane.leaving);
        lane.leaving.clear();
        lane.left.push_back(std::move(left));
        report();
        if (!is_copy(kind)) {
            lane.inside.pop_front();
            --inside;
        }
        progress = cycles;
    }

    // Passes on what has left, in the order of the packets.
    void report() {
        while (!order.empty() && !lanes[order.front()].left.empty()) {
            std::deque<Left> &next = lanes[order.front()].left;
            if (!is_copy(next.front().head.kind)) order.pop_front();
            out.push_back(std::move(next.front()));
            next.pop_front();
        }
    }

    void sample_outputs(uint64_t ready) {
        for (unsigned i = 0; i < LANES; ++i) {
            if (get(&top->event_valid_o, i, 1)) {
                if (!lanes[i].leaving.empty())
                    throw Fault("an event was told in the middle of a packet");
                const uint64_t event = get(&top->event_o, i * EVENT_BITS, EVENT_BITS);
                leave(i, uint32_t(event >> REASON_BITS), uint32_t(event) & REASON_MASK, 0);
            }
            if (!(ready >> i & 1) || !get_beat(lanes[i].leaving, i)) continue;
            const uint64_t user = get(&top->m_axis_tuser_o, i * SENT_BITS, SENT_BITS);
            leave(i, kind_of(user), reason_of(user), egress_of(user));
        }
    }

    bool empty() const {
        for (const Lane &lane : lanes)
            if (lane.in.holds) return false;
        return buffer.empty() && inside == 0;
    }

    // Returns the number of packets that have arrived and not begun to enter.
    uint64_t buffered() const {
        uint64_t count = buffer.size();
        for (const Lane &lane : lanes) count += lane.in.holds && lane.in.sent == 0;
        return count;
    }
};
