// Packets of a chip of virtual routers (hardware/np/wl_virtual_ingress.sv). Each packet enters on
// the lane of its router, which the upper byte of its ingress port selects, and takes a beat each
// cycle; `lost_o` reports that the packet which begins is lost. The upper byte of the egress port
// is the router's number, also for events, which each processor reports on a separate port. The
// packets of one router leave in order.

constexpr unsigned ROUTER_LANES[WL_ROUTERS] = {WL_ROUTER_LANES};
constexpr unsigned ROUTER_SHIFT = 8;         // in a port, above the router's own port

// Input and output of one lane.
struct Lane {
    Sender in;
    std::deque<Packet> buffer;   // packets that have arrived
    std::vector<uint8_t> leaving;
};

struct Traffic : Line {
    static constexpr unsigned OUTPUTS = LANES;
    Lane lanes[LANES];
    std::deque<Passage> within[WL_ROUTERS];  // packets in the chip, for each router, oldest first

    using Line::Line;

    static unsigned router_of(const Packet &packet) {
        const unsigned router = packet.ingress >> ROUTER_SHIFT;
        if (router >= WL_ROUTERS)
            throw Fault("packet " + std::to_string(packet.number) +
                        " (counted from 0) is of router " + std::to_string(router) +
                        ", but there are " + std::to_string(WL_ROUTERS) + ", from 0");
        return router;
    }

    // Moves arrived packets to the buffer of their lane, or loses them.
    void arrive() {
        arrive_at(options.buffer, [this](const Packet &packet) -> auto & {
            return lanes[ROUTER_LANES[router_of(packet)]].buffer;
        });
    }

    void deal() { deal_each(lanes); }

    void drive_inputs() {
        for (unsigned i = 0; i < LANES; ++i) {
            Sender &in = lanes[i].in;
            if (in.wants() && !chance(options.idle_percent)) {
                put_beat(in, i);
                put(&top->s_axis_tuser_i, i * WL_USER_BITS, INGRESS_BITS, in.packet.ingress);
            }
            put(&top->s_axis_tvalid_i, i, 1, in.offering);
        }
    }

    void sample_inputs() {
        for (unsigned i = 0; i < LANES; ++i) {
            Lane &lane = lanes[i];
            if (!was_taken(lane.in, i)) continue;
            if (lane.in.sent == 0) {
                if (get(&top->lost_o, i, 1)) {
                    lose(lane.in.packet);
                } else {
                    within[router_of(lane.in.packet)].push_back(
                        {lane.in.packet.number, lane.in.packet.arrived, now()});
                    ++inside;
                }
            }
            lane.in.advance();
        }
    }

    void leave(uint64_t user, std::vector<uint8_t> bytes) {
        const unsigned router = egress_of(user) >> ROUTER_SHIFT;
        if (router >= WL_ROUTERS || within[router].empty())
            throw Fault("something left the machine that never entered it");
        const Passage &passage = within[router].front();
        Left left;
        left.head = {passage.number, passage.arrived, passage.entered, now(), nullptr, 0,
                     kind_of(user),
                     reason_of(user), egress_of(user)};
        left.bytes = std::move(bytes);
        out.push_back(std::move(left));
        if (!is_copy(kind_of(user))) {
            within[router].pop_front();
            --inside;
        }
        progress = cycles;
    }

    void sample_outputs(uint64_t ready) {
        for (unsigned i = 0; i < WL_EVENTS; ++i)
            if (get(&top->event_valid_o, i, 1))
                leave(get(&top->event_o, i * SENT_BITS, SENT_BITS), {});
        for (unsigned i = 0; i < LANES; ++i) {
            if (!(ready >> i & 1) || !get_beat(lanes[i].leaving, i)) continue;
            std::vector<uint8_t> bytes = std::move(lanes[i].leaving);
            lanes[i].leaving.clear();
            leave(get(&top->m_axis_tuser_o, i * SENT_BITS, SENT_BITS), std::move(bytes));
        }
    }

    bool empty() const {
        for (const Lane &lane : lanes)
            if (lane.in.holds || !lane.buffer.empty()) return false;
        return inside == 0;
    }

    // Returns the number of packets that have arrived and not begun to enter.
    uint64_t buffered() const {
        uint64_t count = 0;
        for (const Lane &lane : lanes)
            count += lane.buffer.size() + (lane.in.holds && lane.in.sent == 0);
        return count;
    }
};
