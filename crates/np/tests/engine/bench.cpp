// Drives one engine: packets and replies come by standard input, what it asks for and what leaves goes out by standard
// output, a line each. Everything that may take its time does, by a seeded generator: packets arrive with idle cycles
// between their rows, offloads and whoever takes the results are not always ready, replies are late and out of order.
//
//   in    P INFO LENGTH WINDOW-BYTES [ARGUMENTS]   a packet, in order; G begins
//         A DATA                                   the answer to a request that has one
//   out   R PORT THREAD DATA                       a request
//         U TAG RESULT ROWS                        a packet, or a copy of one; a called engine's reply in place of rows
//         D CYCLES SLOTS                           all have left; STUCK if nothing moves any more
//
// `ports.h` says what the engine's offload ports are.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "Vbench.h"
#include "ports.h"
#include "verilated.h"

namespace {

uint64_t state = 1;
uint32_t draw(uint32_t below) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<uint32_t>(state >> 33) % below;
}

// Ports of up to 64 bits are integers, wider ones arrays of 32-bit words, the lowest first.
template <typename T>
struct Port {
    static uint32_t word(const T& v, int i) { return static_cast<uint32_t>(static_cast<uint64_t>(v) >> (32 * i)); }
    static void set(T& v, const std::vector<uint32_t>& words) {
        uint64_t all = words.empty() ? 0 : words[0];
        if (words.size() > 1) all |= static_cast<uint64_t>(words[1]) << 32;
        v = static_cast<T>(all);
    }
    static int words() { return sizeof(T) > 4 ? 2 : 1; }
};
template <std::size_t N>
struct Port<VlWide<N>> {
    static uint32_t word(const VlWide<N>& v, int i) { return v[i]; }
    static void set(VlWide<N>& v, const std::vector<uint32_t>& words) {
        for (std::size_t i = 0; i < N; i++) v[i] = i < words.size() ? words[i] : 0;
    }
    static int words() { return N; }
};

template <typename T>
uint32_t lowest(const T& v) {
    return Port<T>::word(v, 0);
}

template <typename T>
std::string hex(const T& v) {
    std::string out;
    char digits[9];
    for (int i = Port<T>::words() - 1; i >= 0; i--) {
        std::snprintf(digits, sizeof digits, "%08x", Port<T>::word(v, i));
        out += digits;
    }
    return out;
}

template <typename T>
void unhex(T& v, const std::string& digits) {
    std::vector<uint32_t> words;
    for (std::size_t end = digits.size(); end > 0;) {
        std::size_t begin = end > 8 ? end - 8 : 0;
        words.push_back(static_cast<uint32_t>(std::strtoul(digits.substr(begin, end - begin).c_str(), nullptr, 16)));
        end = begin;
    }
    Port<T>::set(v, words);
}

struct Packet {
    std::string info, bytes, arguments;
    std::size_t rows() const { return bytes.size() <= 32 ? 1 : (bytes.size() + 31) / 32; }
    std::string row(std::size_t i) const {
        std::string row = 32 * i < bytes.size() ? bytes.substr(32 * i, 32) : "";
        return row + std::string(32 - row.size(), '0');
    }
};

struct Reply {
    uint64_t cycle;
    uint32_t thread;
    std::string data;
};

}  // namespace

int main(int argc, char** argv) {
    state = argc > 1 ? std::strtoull(argv[1], nullptr, 10) * 2 + 1 : 1;
    const bool slow = argc > 2 && argv[2][0] == 's';
    std::vector<Packet> packets;
    for (std::string line; std::getline(std::cin, line) && line != "G";) {
        std::istringstream words(line);
        std::string kind;
        std::size_t length;
        Packet packet;
        words >> kind >> packet.info >> length;
        if (length > 0) words >> packet.bytes;
        words >> packet.arguments;
        packets.push_back(packet);
    }

    VerilatedContext context;
    Vbench top(&context);
    top.clk_i = 0;
    top.rst_i = 1;
    for (int i = 0; i < 4; i++) {
        top.clk_i = !top.clk_i;
        top.eval();
    }
    top.clk_i = 0;
    top.rst_i = 0;

    std::deque<Reply> replies[PORTS];
    std::vector<bool> gone(packets.size());
    std::size_t loading = 0, row = 0, left = 0, head = 0;
    std::string rows;
    uint64_t cycle = 0, slots = 0, quiet = 0;
    bool load_idle = false;
    while (left < packets.size()) {
        // Inputs. A payload that was offered stays until it is taken.
        if (loading < packets.size() && !load_idle) {
            const Packet& packet = packets[loading];
            top.load_valid_i = 1;
            top.load_first_i = row == 0;
            top.load_last_i = row + 1 == packet.rows();
            unhex(top.load_data_i, packet.row(row));
            top.load_tag_i = loading;
            unhex(top.load_info_i, packet.info);
            SET_ARGUMENTS(packet.arguments);
        } else {
            top.load_valid_i = 0;
        }
        top.unload_ready_i = !slow || draw(3) != 0;
        top.order_head_i = head;
        top.order_drained_i = 1;
#define READY(i, x) top.x##_request_ready_i = !slow || draw(4) != 0;
        EACH_PORT(READY)
#define REPLY(i, x)                                                      \
    top.x##_reply_valid_i = 0;                                           \
    for (auto reply = replies[i].begin(); reply != replies[i].end(); ++reply) { \
        if (reply->cycle > cycle) continue;                              \
        top.x##_reply_valid_i = 1;                                       \
        top.x##_reply_thread_i = reply->thread;                          \
        unhex(top.x##_reply_data_i, reply->data);                        \
        replies[i].erase(reply);                                         \
        break;                                                           \
    }
        EACH_REPLY(REPLY)
        top.eval();

        // What happens at this edge.
        bool moves = false;
        if (top.load_valid_i && top.load_ready_o) {
            moves = true;
            row++;
            if (top.load_last_i) {
                loading++;
                row = 0;
            }
            load_idle = slow && draw(3) == 0;
        } else if (!top.load_valid_i) {
            load_idle = false;
        }
#define REQUEST(i, x)                                                                                     \
    if (top.x##_request_valid_o && top.x##_request_ready_i) {                                             \
        std::cout << "R " << i << ' ' << static_cast<uint32_t>(top.x##_request_thread_o) << ' '           \
                  << hex(top.x##_request_data_o) << std::endl;                                            \
        moves = true;                                                                                     \
        if (REPLIES[i]) {                                                                                 \
            std::string line;                                                                             \
            std::getline(std::cin, line);                                                                 \
            replies[i].push_back({cycle + 1 + (slow ? draw(40) : 5), static_cast<uint32_t>(top.x##_request_thread_o), \
                                  line.substr(2)});                                                       \
        }                                                                                                 \
    }
        EACH_PORT(REQUEST)
        if (top.unload_valid_o && top.unload_ready_i) {
            moves = true;
            if (top.unload_first_o) rows.clear();
            rows += REPLY_OR(hex(top.unload_data_o));
            if (top.unload_last_o) {
                std::size_t tag = top.unload_tag_o;
                std::cout << "U " << tag << ' ' << hex(top.unload_result_o) << ' ' << rows << '\n';
                // Bit 0 of the result: more will come.
                if ((lowest(top.unload_result_o) & 1) == 0) {
                    gone[tag] = true;
                    left++;
                    while (head < gone.size() && gone[head]) head++;
                }
            }
        }
        slots += top.slot_valid_o;
        quiet = moves ? 0 : quiet + 1;
        if (quiet > LIMIT) {
            std::cout << "STUCK" << std::endl;
            return 1;
        }
        top.clk_i = 1;
        top.eval();
        top.clk_i = 0;
        cycle++;
    }
    std::cout << "D " << cycle << ' ' << slots << std::endl;
    top.final();
    return 0;
}
