// Numbers that the processor's sources and the compiler set: of the model's ports, and of packets.
// A test compares them (crates/np/tests/suite/templates.rs).

constexpr unsigned LANE_BYTES = 64;          // of a beat on a wide lane

// The sideband bits of a packet that leaves (wl_pkg::sent_t), the lowest first; events lack the
// egress port.
constexpr unsigned EGRESS_BITS = 16, REASON_BITS = 24, KIND_BITS = 3;
constexpr unsigned SENT_BITS = EGRESS_BITS + REASON_BITS + KIND_BITS;
constexpr unsigned EVENT_BITS = REASON_BITS + KIND_BITS;
constexpr uint32_t EGRESS_MASK = (1u << EGRESS_BITS) - 1, REASON_MASK = (1u << REASON_BITS) - 1;

// The sideband bits of a packet that arrives, the lowest first.
constexpr unsigned INGRESS_BITS = 16, ARRIVAL_BITS = 64;

// How a packet ends (wl_pkg::EXIT_*).
constexpr uint32_t KIND_FINISH = 1;          // it is sent
constexpr uint32_t KIND_EMIT = 2;            // a copy is sent; the packet will be reported again
constexpr uint32_t KIND_DROP = 3;
constexpr uint32_t KIND_TO_CPU = 4;
constexpr uint32_t KIND_COPY_TO_CPU = 7;     // a copy for the control processor

inline bool is_copy(uint32_t kind) { return kind == KIND_EMIT || kind == KIND_COPY_TO_CPU; }

// Reasons are set << 16 | value.
constexpr uint32_t RUNAWAY = 0xff0000;       // a thread that jumped back too often; any value

constexpr unsigned MAX_LENGTH = 65535;       // bytes of the longest packet
