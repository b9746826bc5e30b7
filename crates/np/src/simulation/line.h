// Functions that wide lanes and narrow ports share: beats at the model's streams.

uint64_t full(unsigned count) { return count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1; }
uint32_t kind_of(uint64_t user) { return uint32_t(user >> (EGRESS_BITS + REASON_BITS)); }
uint32_t reason_of(uint64_t user) { return uint32_t(user >> EGRESS_BITS) & REASON_MASK; }
uint32_t egress_of(uint64_t user) { return uint32_t(user) & EGRESS_MASK; }

// The beats that a packet takes on a lane. One without bytes takes one, too.
uint64_t beats_of(const Packet &packet) {
    return std::max<uint64_t>(1, (packet.bytes.size() + BEAT - 1) / BEAT);
}

// The input of a stream, with the packet that enters.
struct Sender {
    bool holds = false;          // there is a packet
    Packet packet;
    size_t sent = 0;             // bytes of it that were accepted
    bool offering = false;       // a beat is offered at the port

    void begin(Packet &&next) {
        holds = true;
        sent = 0;
        packet = std::move(next);
    }
    bool wants() const { return holds && !offering; }
    void advance() {
        sent += BEAT;
        holds = sent < packet.bytes.size();
    }
};

// The model, its time, and the packets before and after it.
struct Line {
    std::unique_ptr<VerilatedContext> context{new VerilatedContext};
    std::unique_ptr<np_model> top;
    std::mt19937_64 random;
    wl_options options;
    std::deque<Packet> waiting;      // not yet arrived
    std::deque<Left> out;
    std::deque<uint64_t> lost;
#if WL_FOLLOW
    Follower follower;
#endif
    uint64_t lost_count = 0, cycles = 0, skipped = 0, progress = 0, inside = 0;

    explicit Line(const wl_options &given) : random(given.seed), options(given) {}

    bool chance(uint32_t percent) { return percent != 0 && random() % 100 < percent; }

    uint64_t now() const { return cycles + skipped; }

    // A packet is the n-th that enters on a lane.
    void enters(uint64_t number, unsigned lane, uint64_t n) {
#if WL_FOLLOW
        if (number == follower.followed) follower.enters(lane, n);
#else
        (void)number, (void)lane, (void)n;
#endif
    }

    void lose(const Packet &packet) {
        lost.push_back(packet.number);
        ++lost_count;
    }

    // Moves arrived packets to the buffer that `buffer_of` returns, which has `places` places, or
    // loses them.
    template <class BufferOf> void arrive_at(size_t places, BufferOf buffer_of) {
        while (!waiting.empty() && waiting.front().arrived <= now()) {
            std::deque<Packet> &buffer = buffer_of(waiting.front());
            if (buffer.size() < places) {
                if (waiting.front().waits) waiting.front().arrived = now();
                buffer.push_back(std::move(waiting.front()));
            } else if (waiting.front().waits) {
                return;
            } else {
                lose(waiting.front());
            }
            waiting.pop_front();
        }
    }

    // Gives the next packet of its buffer to each input that is free.
    template <class Ways> void deal_each(Ways &ways) {
        for (auto &way : ways) {
            if (way.buffer.empty() || way.in.holds || chance(options.idle_percent)) continue;
            way.in.begin(std::move(way.buffer.front()));
            way.buffer.pop_front();
        }
    }

    // Puts the next beat of a packet on input `index`.
    void put_beat(Sender &in, unsigned index) {
        const size_t size = in.packet.bytes.size();
        const size_t count = std::min<size_t>(BEAT, size - in.sent);
        auto *data = reinterpret_cast<uint8_t *>(&top->s_axis_tdata_i) + index * BEAT;
        std::memset(data, 0, BEAT);
        std::memcpy(data, in.packet.bytes.data() + in.sent, count);
        put(&top->s_axis_tkeep_i, index * BEAT, BEAT, full(unsigned(count)));
        put(&top->s_axis_tlast_i, index, 1, in.sent + count == size);
        in.offering = true;
    }

    bool was_taken(Sender &in, unsigned index) {
        if (!in.offering || !get(&top->s_axis_tready_o, index, 1)) return false;
        in.offering = false;
        progress = cycles;
        return true;
    }

    // Takes a beat from output `index`, which is ready, if there is one; returns whether it ends a
    // packet.
    bool get_beat(std::vector<uint8_t> &leaving, unsigned index) {
        if (!get(&top->m_axis_tvalid_o, index, 1)) return false;
        const auto *data = reinterpret_cast<const uint8_t *>(&top->m_axis_tdata_o) + index * BEAT;
        const uint64_t keep = get(&top->m_axis_tkeep_o, index * BEAT, BEAT);
        const bool last = get(&top->m_axis_tlast_o, index, 1);
        const unsigned count = unsigned(__builtin_popcountll(keep));
        if (keep != full(count) || (!last && count != BEAT)) {
            char text[80];
            std::snprintf(text, sizeof text,
                          "lane %u sent a beat with holes: tkeep %016llx, tlast %d", index,
                          static_cast<unsigned long long>(keep), last);
            throw Fault(text);
        }
        leaving.insert(leaving.end(), data, data + count);
        return last;
    }
};
