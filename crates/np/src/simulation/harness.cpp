// Drives a network processor that Verilator has translated, and provides the C interface that
// model.rs loads.
//
// A cycle is one of the core clock. Within a cycle, inputs change while the clock is low, and
// outputs are sampled just before it rises. Packets wait in a line until their arrival, then in an
// input buffer, from which they enter: lanes.h handles wide lanes, ports.h narrow ports, and
// routers.h virtual routers.
//
// The build defines the size of the ports: WL_LANES, WL_USER_BITS, WL_ARRIVAL (tuser has the
// arrival time, on wide lanes above the ingress port), WL_PORTS (narrow ports; 0: wide lanes) of
// WL_PORT_BYTES with WL_PORT_NUMBERS, WL_MEMORY_RATIO (0: no memory clock), WL_PROBE_BITS (0: no
// probes), WL_WAVES, WL_ROUTERS (0: no virtual routers), the lane of each router in
// WL_ROUTER_LANES, and WL_EVENTS, the processors that report events. WL_CLEARING is the number of
// cycles until memories are cleared after a reset, and WL_LONGEST_PAUSE the most cycles for which a
// table answers nobody. WL_FOLLOW says whether one packet can be followed through the processor
// (follow.h).

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "np_model.h"
#include "verilated.h"
#if WL_FOLLOW
#include "verilated_syms.h"
#endif
#if WL_WAVES
#include "verilated_fst_c.h"
#endif

namespace {

#include "layout.h"

constexpr unsigned LANES = WL_LANES;
constexpr uint64_t NOT_ENTERED = ~uint64_t(0);
#if WL_PORTS > 0
constexpr unsigned BEAT = WL_PORT_BYTES;     // bytes of a port and cycle
#else
constexpr unsigned BEAT = LANE_BYTES;
#endif
constexpr unsigned RESET_CYCLES = 8;
// After a reset, memories are cleared. Machines that clear little start alike.
constexpr uint64_t CLEARING_CYCLES = std::max<uint64_t>(1024, WL_CLEARING);

// Reads bits of a port as memory: Verilator and the host both store vectors little-endian.
uint64_t get(const void *port, unsigned at, unsigned count) {
    const auto *bytes = static_cast<const uint8_t *>(port);
    uint64_t value = 0;
    for (unsigned bit = 0; bit < count;) {
        const unsigned from = at + bit, shift = from % 8, take = std::min(8 - shift, count - bit);
        value |= uint64_t((bytes[from / 8] >> shift) & ((1u << take) - 1)) << bit;
        bit += take;
    }
    return value;
}

void put(void *port, unsigned at, unsigned count, uint64_t value) {
    auto *bytes = static_cast<uint8_t *>(port);
    for (unsigned bit = 0; bit < count;) {
        const unsigned to = at + bit, shift = to % 8, take = std::min(8 - shift, count - bit);
        const unsigned mask = ((1u << take) - 1) << shift;
        const unsigned shifted = unsigned(value >> bit) << shift;
        bytes[to / 8] = uint8_t((bytes[to / 8] & ~mask) | (shifted & mask));
        bit += take;
    }
}

struct Packet {
    uint64_t number;       // among all offered packets
    uint64_t arrival_ns;   // arrival time as the program sees it
    uint64_t arrived;      // cycle of arrival
    uint16_t ingress;
    bool waits;            // the packet waits for room instead of being lost
    std::vector<uint8_t> bytes;
};

// A packet inside the machine.
struct Passage {
    uint64_t number, arrived;
    uint64_t entered;      // cycle in which its first beat was accepted
};

struct Control {
    bool write;
    uint32_t address, data;
    bool address_taken, data_taken;
};

}  // namespace

extern "C" {

// The options of a simulation.
struct wl_options {
    const char *const *arguments;  // plusargs
    uint32_t argument_count;
    uint32_t buffer;               // capacity of each lane's input buffer in packets
    uint32_t idle_percent;         // percent of cycles in which no beat is offered
    uint32_t stall_percent;        // percent of cycles in which no output is ready
    uint64_t seed;                 // seed of these two, and of initial memories and registers
    uint64_t patience;             // cycles without progress until a run counts as stuck, beyond
                                   // the longest pause of a table
    uint64_t period_ps;            // of the core clock, for waves
    const char *waves;             // output file, or null
};

// A packet that left, or the report of one that ended otherwise. It is valid until the next call.
struct wl_left {
    uint64_t number;    // number of the packet among those offered
    uint64_t arrived, entered, left;  // cycles: arrival, first beat in, last beat out
    const uint8_t *bytes;
    uint32_t length;
    uint32_t kind;      // wl_pkg::EXIT_*
    uint32_t reason;    // as in layout.h
    uint32_t egress;
};

// Something that happened to the packet that is followed.
struct wl_event {
    uint64_t cycle;
    uint64_t number;    // depends on the kind
    uint32_t kind;      // Happened (follow.h)
    uint32_t pipe, cluster;
};

struct wl_state {
    uint64_t cycles;    // simulated since reset
    uint64_t now;       // simulated and skipped cycles since reset
    uint64_t waiting;   // packets offered, and not in the machine yet
    uint64_t inside;    // packets in the machine
    uint64_t lost;      // packets dropped at the input so far
    uint64_t outside;   // cycles before the first packet came in and since the last one left
};
}

namespace {

struct Left {
    wl_left head;
    std::vector<uint8_t> bytes;
};

struct Fault : std::runtime_error {
    using std::runtime_error::runtime_error;
};

#if WL_FOLLOW
#include "follow.h"
#endif
#include "line.h"
#if WL_ROUTERS > 0
#include "routers.h"
#elif WL_PORTS > 0
#include "ports.h"
#else
#include "lanes.h"
#endif

// Cycles, and in how many of them each bit of the probes was set.
struct Uses {
    uint64_t cycles = 0;
    std::vector<uint64_t> counts = std::vector<uint64_t>(WL_PROBE_BITS);
};

struct Simulation : Traffic {
#if WL_WAVES
    std::unique_ptr<VerilatedFstC> waves;
#endif
    std::vector<uint8_t> shown;
    std::deque<Control> controls;
    std::deque<uint64_t> answers;    // response << 32 | data
    std::vector<uint64_t> probes;
    Uses before, since;              // until the first packet came in; since the last one left
    std::vector<uint64_t> outside;   // the sum of both
    bool has_begun = false;          // the first packet has come in
    uint64_t offered = 0;
    std::string error;

    explicit Simulation(const wl_options &given)
        : Traffic(given), probes(WL_PROBE_BITS), outside(WL_PROBE_BITS) {
        Verilated::threadContextp(context.get());
        std::vector<const char *> words{"np"};
        words.insert(words.end(), given.arguments, given.arguments + given.argument_count);
        context->commandArgs(int(words.size()), words.data());
        context->randReset(2);
        context->randSeed(int(given.seed % 0x7fffffff) + 1);
#if WL_WAVES
        context->traceEverOn(true);
#endif
        top.reset(new np_model(context.get()));
#if WL_WAVES
        if (given.waves) {
            waves.reset(new VerilatedFstC);
            top->trace(waves.get(), 99);
            waves->open(given.waves);
            if (!waves->isOpen()) throw Fault(std::string(given.waves) + " cannot be written");
        }
#endif
#if WL_FOLLOW
        follower.begin(*context);
#endif
        options.arguments = nullptr;
        options.waves = nullptr;
        // No packet arrives until memories have been cleared, just as none would until tables are
        // loaded.
        for (uint64_t i = 0; i < RESET_CYCLES + CLEARING_CYCLES; ++i) {
            top->rst_i = i < RESET_CYCLES;
            drive_inputs();
            put(&top->m_axis_tready_i, 0, OUTPUTS, 0);
            drive_control();
            low();
            clock();
        }
    }

    ~Simulation() {
        Verilated::threadContextp(context.get());
#if WL_WAVES
        if (waves) waves->close();
#endif
        top->final();
    }

    void settle(uint64_t phases) {
        top->eval();
#if WL_WAVES
        if (waves) waves->dump(context->time());
#endif
        context->timeInc(options.period_ps / phases);
    }

    // Advances from just before the rising edge of the clock to the time at which inputs may
    // change: the core clock rises and falls, and the memory clock does so WL_MEMORY_RATIO times.
    void clock() {
#if WL_MEMORY_RATIO > 0
        for (unsigned phase = 0; phase + 1 < 2 * WL_MEMORY_RATIO; ++phase) {
            top->clk_i = phase < WL_MEMORY_RATIO;
            top->clk_mem_i = phase % 2 == 0;
            settle(2 * WL_MEMORY_RATIO);
        }
#else
        top->clk_i = 1;
        settle(2);
#endif
    }

    // Inputs are stable; updates the outputs.
    void low() {
        top->clk_i = 0;
#if WL_MEMORY_RATIO > 0
        top->clk_mem_i = 0;
        settle(2 * WL_MEMORY_RATIO);
#else
        settle(2);
#endif
    }

    void drive_control() {
        const Control *next = controls.empty() ? nullptr : &controls.front();
        const bool write = next && next->write;
        top->s_axil_awvalid_i = write && !next->address_taken;
        top->s_axil_wvalid_i = write && !next->data_taken;
        top->s_axil_arvalid_i = next && !write && !next->address_taken;
        top->s_axil_bready_i = 1;
        top->s_axil_rready_i = 1;
        top->s_axil_wstrb_i = 0xf;
        if (next) {
            top->s_axil_awaddr_i = next->address;
            top->s_axil_araddr_i = next->address;
            top->s_axil_wdata_i = next->data;
        }
    }

    void sample_control() {
        if (controls.empty()) return;
        Control &next = controls.front();
        if (next.write) {
            next.address_taken |= top->s_axil_awvalid_i && top->s_axil_awready_o;
            next.data_taken |= top->s_axil_wvalid_i && top->s_axil_wready_o;
            if (!top->s_axil_bvalid_o) return;
            answers.push_back(uint64_t(top->s_axil_bresp_o) << 32);
        } else {
            next.address_taken |= top->s_axil_arvalid_i && top->s_axil_arready_o;
            if (!top->s_axil_rvalid_o) return;
            answers.push_back(uint64_t(top->s_axil_rresp_o) << 32 | top->s_axil_rdata_o);
        }
        controls.pop_front();
        progress = cycles;
    }

    void sample_probes(Uses *uses) {
        (void)uses;
#if WL_PROBE_BITS > 0
        const auto *words = reinterpret_cast<const uint8_t *>(&top->probe_o);
        for (unsigned byte = 0; byte < (WL_PROBE_BITS + 7) / 8; ++byte)
            for (unsigned set = words[byte]; set != 0; set &= set - 1) {
                const unsigned bit = byte * 8 + unsigned(__builtin_ctz(set));
                ++probes[bit];
                if (uses) ++uses->counts[bit];
            }
#endif
    }

    // Returns where the cycle counts in addition, which has a packet in it or not.
    Uses *sample_outside(bool has_packet) {
        if (has_packet) {
            has_begun = true;
            if (since.cycles != 0) since = Uses();
            return nullptr;
        }
        Uses &uses = has_begun ? since : before;
        ++uses.cycles;
        return &uses;
    }

    void cycle() {
        const bool had_packet = inside != 0;
        arrive();
        deal();
        drive_inputs();
        uint64_t ready = 0;
        for (unsigned i = 0; i < OUTPUTS; ++i)
            ready |= uint64_t(!chance(options.stall_percent)) << i;
        put(&top->m_axis_tready_i, 0, OUTPUTS, ready);
        drive_control();
        low();
        sample_outputs(ready);
        sample_inputs();
        sample_control();
        sample_probes(sample_outside(had_packet || inside != 0));
#if WL_FOLLOW
        follower.look(now());
#endif
        clock();
        ++cycles;
    }

    bool idle() const { return Traffic::empty() && controls.empty(); }

    // Runs up to `count` cycles; unless `whatever` is set, fewer if the machine becomes idle. A
    // machine that has been empty for long is not clocked until the next packet arrives.
    void run(uint64_t count, bool whatever) {
        Verilated::threadContextp(context.get());
        for (; count != 0; --count) {
            if (whatever) {
                progress = cycles;
            } else if (idle()) {
                if (waiting.empty()) return;
                const uint64_t next = waiting.front().arrived;
                if (next > now() && cycles - progress > 1000) skipped += next - now();
            } else if (cycles - progress > options.patience + WL_LONGEST_PAUSE) {
                throw Fault("the machine has made no progress for " +
                            std::to_string(cycles - progress - 1) + " cycles, with " +
                            std::to_string(inside) + " packets in it");
            }
            cycle();
        }
    }
};

// Runs `work`; an exception becomes the simulation's error.
template <class Work>
int guarded(Simulation *simulation, Work work) {
    if (!simulation->error.empty()) return -1;
    try {
        work();
        return 0;
    } catch (const std::exception &fault) {
        simulation->error = fault.what();
        return -1;
    }
}

}  // namespace

// Text that the model prints. It is shown on standard error, unless it is the reason why the model
// stops.
static thread_local std::string said;

void wl_print(const char *format, ...) {
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    said += text;
}

static void show_said() {
    std::fputs(said.c_str(), stderr);
    said.clear();
}

// Handles the model's own $fatal, $error and $finish: the caller's process must survive.
void vl_fatal(const char *file, int line, const char *, const char *message) {
    std::string why = std::move(said);
    said.clear();
    while (!why.empty() && why.back() == '\n') why.pop_back();
    if (why.empty()) why = std::string(file) + ":" + std::to_string(line) + ": " + message;
    throw Fault(why);
}
void vl_stop(const char *file, int line, const char *scope) {
    vl_fatal(file, line, scope, "the model stopped");
}
void vl_finish(const char *file, int line, const char *scope) {
    vl_fatal(file, line, scope, "the model finished");
}

extern "C" {

Simulation *wl_open(const wl_options *options, char *error, uint32_t room) {
    try {
        return new Simulation(*options);
    } catch (const std::exception &fault) {
        std::strncpy(error, fault.what(), room - 1);
        error[room - 1] = 0;
        return nullptr;
    }
}

void wl_close(Simulation *simulation) {
    delete simulation;
    show_said();
}

const char *wl_error(const Simulation *simulation) { return simulation->error.c_str(); }

// Offers a packet that arrives in cycle `arrived`; packets of later calls arrive no earlier.
void wl_offer(Simulation *simulation, const uint8_t *bytes, uint32_t length, uint16_t ingress,
              uint64_t arrival_ns, uint64_t arrived, int waits) {
    simulation->waiting.push_back({simulation->offered++, arrival_ns, arrived, ingress, waits != 0,
                                   std::vector<uint8_t>(bytes, bytes + length)});
}

int wl_run(Simulation *simulation, uint64_t cycles, int whatever) {
    const int outcome = guarded(simulation, [&] { simulation->run(cycles, whatever != 0); });
    show_said();
    return outcome;
}

// Takes the next packet or report, in the order in which packets entered or, with narrow ports,
// were accepted; with virtual routers, only those of one router are in order. Returns 0 if there
// is none.
int wl_take(Simulation *simulation, wl_left *left) {
    if (simulation->out.empty()) return 0;
    Left &first = simulation->out.front();
    simulation->shown = std::move(first.bytes);
    *left = first.head;
    left->bytes = simulation->shown.data();
    left->length = uint32_t(simulation->shown.size());
    simulation->out.pop_front();
    return 1;
}

// Takes the number of the next packet that was lost at the input. Returns 0 if there is none.
int wl_take_lost(Simulation *simulation, uint64_t *number) {
    if (simulation->lost.empty()) return 0;
    *number = simulation->lost.front();
    simulation->lost.pop_front();
    return 1;
}

// Queues an AXI4-Lite transaction.
void wl_control(Simulation *simulation, int write, uint32_t address, uint32_t data) {
    simulation->controls.push_back({write != 0, address, data, false, false});
}

// Takes the answer to the next transaction, response << 32 | data. Returns 0 if there is none yet.
int wl_take_answer(Simulation *simulation, uint64_t *answer) {
    if (simulation->answers.empty()) return 0;
    *answer = simulation->answers.front();
    simulation->answers.pop_front();
    return 1;
}

void wl_state_of(const Simulation *simulation, wl_state *state) {
    *state = {simulation->cycles, simulation->now(),
              simulation->waiting.size() + simulation->buffered(), simulation->inside,
              simulation->lost_count, simulation->before.cycles + simulation->since.cycles};
}

// Follows a packet, by its number among all that are offered. Must come before the packet does.
void wl_follow(Simulation *simulation, uint64_t number) {
#if WL_FOLLOW
    simulation->follower.followed = number;
#else
    (void)simulation, (void)number;
#endif
}

// Takes the next event of the packet that is followed. Returns 0 if there is none, or the model
// cannot follow packets.
int wl_take_event(Simulation *simulation, wl_event *event) {
#if WL_FOLLOW
    if (simulation->follower.events.empty()) return 0;
    *event = simulation->follower.events.front();
    simulation->follower.events.pop_front();
    return 1;
#else
    (void)simulation, (void)event;
    return 0;
#endif
}

// Returns the number of cycles in which each bit of the probes was set.
const uint64_t *wl_probes(const Simulation *simulation) { return simulation->probes.data(); }

// Returns the same for the cycles `outside` of wl_state.
const uint64_t *wl_probes_outside(Simulation *simulation) {
    for (size_t bit = 0; bit < simulation->outside.size(); ++bit)
        simulation->outside[bit] =
            simulation->before.counts[bit] + simulation->since.counts[bit];
    return simulation->outside.data();
}
}
