// Packets on narrow ports: each port has its own line, selected by the packets' ingress port. The
// processor reports the order in which it takes packets from its ports (`taken_o`), and the target
// of each (`went_o`, `unknown_o`, events), in that order. The packets that leave a port must be
// those reported for it, in the same order; they are delivered packet by packet in the order in
// which they were taken.

constexpr uint16_t NUMBERS[] = {WL_PORT_NUMBERS};

// Input of one port.
struct Port {
    Sender in;
    std::deque<Packet> buffer;   // packets that have arrived
    std::deque<Passage> queued;  // packets that have begun to enter, and are not taken
};

// A packet that was taken, and its parts so far.
struct Story {
    Passage passage;
    std::deque<Left> parts;
    unsigned open = 0;           // parts that have not left yet
    bool ended = false;          // there are no more parts
};

// A part that is on its way to a stream.
struct Going {
    uint64_t story;              // number of the packet, counted from the first one taken
    size_t part;
};

struct Traffic : Line {
    static constexpr unsigned OUTPUTS = WL_PORTS + 1;  // the last is for the control processor
    Port ports[WL_PORTS];
    std::deque<Story> stories;       // oldest first
    uint64_t first = 0, told = 0;    // packets delivered completely; packets whose end was reported
    std::deque<Going> going[OUTPUTS];
    std::vector<uint8_t> leaving[OUTPUTS];

    using Line::Line;

    Port &port_of(const Packet &packet) {
        for (unsigned i = 0; i < WL_PORTS; ++i)
            if (NUMBERS[i] == packet.ingress) return ports[i];
        std::string text = "packet " + std::to_string(packet.number) +
                           " (counted from 0) came in on port " + std::to_string(packet.ingress) +
                           ", which the machine does not have; its ports are";
        for (uint16_t number : NUMBERS) text += " " + std::to_string(number);
        throw Fault(text);
    }

    // Moves arrived packets to the buffer of their port, or loses them.
    void arrive() {
        arrive_at(options.buffer,
                  [this](const Packet &packet) -> auto & { return port_of(packet).buffer; });
    }

    void deal() { deal_each(ports); }

    void drive_inputs() {
        for (unsigned i = 0; i < WL_PORTS; ++i) {
            Sender &in = ports[i].in;
            if (in.wants() && !chance(options.idle_percent)) {
                put_beat(in, i);
#if WL_ARRIVAL
                put(&top->s_axis_tuser_i, i * ARRIVAL_BITS, ARRIVAL_BITS, in.packet.arrival_ns);
#endif
            }
            put(&top->s_axis_tvalid_i, i, 1, in.offering);
        }
    }

    void sample_inputs() {
        for (unsigned i = 0; i < WL_PORTS; ++i) {
            Port &port = ports[i];
            if (get(&top->taken_o, i, 1)) {
                if (port.queued.empty()) throw Fault("a packet was taken that never came");
                enters(port.queued.front().number, 0, first + stories.size());
                stories.push_back({port.queued.front(), {}, 0, false});
                port.queued.pop_front();
            }
            if (!was_taken(port.in, i)) continue;
            if (port.in.sent == 0) {
                port.queued.push_back({port.in.packet.number, port.in.packet.arrived, now()});
                ++inside;
            }
            port.in.advance();
        }
    }

    // Adds a part to the oldest packet whose end the processor has not reported; the part goes to
    // `stream`, or to none.
    void tell(uint32_t kind, uint32_t reason, uint32_t egress, const unsigned *stream) {
        if (told - first >= stories.size())
            throw Fault("something left the machine that never entered it");
        Story &story = stories[told - first];
        const Passage &passage = story.passage;
        if (stream) {
            going[*stream].push_back({told, story.parts.size()});
            ++story.open;
        }
        Left left;
        left.head = {passage.number, passage.arrived, passage.entered, now(), nullptr, 0, kind,
                     reason, egress};
        story.parts.push_back(std::move(left));
        if (!is_copy(kind)) {
            story.ended = true;
            ++told;
        }
        progress = cycles;
    }

    void sample_outputs(uint64_t ready) {
        const uint64_t user = get(&top->sent_o, 0, SENT_BITS);
        if (get(&top->event_valid_o, 0, 1)) {
            const uint64_t event = get(&top->event_o, 0, EVENT_BITS);
            tell(uint32_t(event >> REASON_BITS), uint32_t(event) & REASON_MASK, 0, nullptr);
        }
        if (get(&top->unknown_o, 0, 1))
            tell(kind_of(user), reason_of(user), egress_of(user), nullptr);
        for (unsigned i = 0; i < OUTPUTS; ++i) {
            if (get(&top->went_o, i, 1)) tell(kind_of(user), reason_of(user), egress_of(user), &i);
            if (!(ready >> i & 1) || !get_beat(leaving[i], i)) continue;
            if (going[i].empty())
                throw Fault("a packet left on a port that it was not told to go to");
            Story &story = stories[going[i].front().story - first];
            Left &left = story.parts[going[i].front().part];
            going[i].pop_front();
            const uint64_t own = get(&top->m_axis_tuser_o, i * SENT_BITS, SENT_BITS);
            if (kind_of(own) != left.head.kind || reason_of(own) != left.head.reason ||
                egress_of(own) != left.head.egress)
                throw Fault("packets left a port in another order than they went there");
            left.bytes = std::move(leaving[i]);
            leaving[i].clear();
            left.head.left = now();
            --story.open;
            progress = cycles;
        }
        while (!stories.empty() && stories.front().ended && stories.front().open == 0) {
            for (Left &left : stories.front().parts) out.push_back(std::move(left));
            stories.pop_front();
            ++first;
            --inside;
        }
    }

    bool empty() const {
        for (const Port &port : ports)
            if (port.in.holds || !port.buffer.empty()) return false;
        return inside == 0;
    }

    // Returns the number of packets that have arrived and not begun to enter.
    uint64_t buffered() const {
        uint64_t count = 0;
        for (const Port &port : ports)
            count += port.buffer.size() + (port.in.holds && port.in.sent == 0);
        return count;
    }
};
