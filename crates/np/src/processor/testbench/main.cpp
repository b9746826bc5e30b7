// Test bench of a generated network processor: offers packets, and compares what leaves with what
// is expected.
//
//   np_tb PACKETS EXPECTED [--idle PERCENT] [--stall PERCENT] [--waves FILE]
//         [+wl_image_NAME=FILE ...]
//
// A line of PACKETS: ingress port, arrival in nanoseconds (decimal), bytes (hexadecimal, `-` for
// none). A line of EXPECTED: number of the packet from 0, then `sent PORT BYTES`,
// `cpu REASON BYTES` or `drop REASON` (a reason is set << 16 | value, six hexadecimal digits; of
// set ff only the set counts). Packets enter as fast as they are taken; those of virtual routers,
// whose queues would overflow, when they arrive.
// Exit status: 0 if everything left as expected, else 1; 2 for bad input.

#include "harness.cpp"

#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

namespace {

[[noreturn]] void refuse(const std::string &what) {
    std::cerr << "np_tb: " << what << "\n";
    std::exit(2);
}

std::vector<uint8_t> bytes_of(const std::string &text, const std::string &where) {
    std::vector<uint8_t> bytes;
    if (text == "-") return bytes;
    if (text.size() % 2 != 0 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
        refuse(where + ": bytes are pairs of the digits 0-9, a-f");
    for (size_t i = 0; i < text.size(); i += 2)
        bytes.push_back(uint8_t(std::stoul(text.substr(i, 2), nullptr, 16)));
    return bytes;
}

std::string hex_of(const uint8_t *bytes, size_t length) {
    static const char *digits = "0123456789abcdef";
    std::string text;
    for (size_t i = 0; i < length; ++i) (text += digits[bytes[i] >> 4]) += digits[bytes[i] & 15];
    return text.empty() ? "-" : text;
}

std::string reason_of(uint32_t reason) {
    if (reason >> 16 == RUNAWAY >> 16) reason = RUNAWAY;
    char text[16];
    std::snprintf(text, sizeof text, "%06x", reason);
    return text;
}

// A line of EXPECTED for something that left; empty if nothing came of the packet.
std::string line_of(const wl_left &left) {
    const std::string number = std::to_string(left.number);
    const std::string bytes = hex_of(left.bytes, left.length);
    switch (left.kind) {
        case KIND_FINISH:
        case KIND_EMIT: return number + " sent " + std::to_string(left.egress) + " " + bytes;
        case KIND_DROP: return number + " drop " + reason_of(left.reason);
        case KIND_TO_CPU:
        case KIND_COPY_TO_CPU: return number + " cpu " + reason_of(left.reason) + " " + bytes;
        default: return "";
    }
}

uint32_t percent(const std::string &text) {
    const bool is_number = text.find_first_not_of("0123456789") == std::string::npos;
    if (text.empty() || text.size() > 2 || !is_number)
        refuse("'" + text + "' is no percentage from 0 to 99");
    return uint32_t(std::stoul(text));
}

}  // namespace

int main(int count, char **words) {
    std::vector<std::string> files;
    std::vector<const char *> arguments;
    std::string waves;
    wl_options options{};
    options.buffer = 64;
    options.seed = 1;
    options.patience = 1000000;
    options.period_ps = WL_PERIOD_PS;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        if (word[0] == '+') arguments.push_back(words[i]);
        else if (word.rfind("--", 0) != 0) files.push_back(word);
        else if (i + 1 == count) refuse(word + " wants a value");
        else if (word == "--idle") options.idle_percent = percent(words[++i]);
        else if (word == "--stall") options.stall_percent = percent(words[++i]);
        else if (word == "--waves") waves = words[++i];
        else refuse("there is no option " + word);
    }
    if (files.size() != 2)
        refuse("usage: np_tb PACKETS EXPECTED [options] [+wl_image_NAME=FILE ...]");
    if (!WL_WAVES && !waves.empty())
        refuse("this test bench was built without waves: make sim WAVES=FILE");
    options.arguments = arguments.data();
    options.argument_count = uint32_t(arguments.size());
    options.waves = waves.empty() ? nullptr : waves.c_str();

    char error[4096] = "";
    Simulation *simulation = wl_open(&options, error, sizeof error);
    if (!simulation) refuse(error);
    std::ifstream packets(files[0]), expected(files[1]);
    if (!packets) refuse(files[0] + ": cannot be read");
    if (!expected) refuse(files[1] + ": cannot be read");
    std::string line;
    for (size_t number = 1; std::getline(packets, line); ++number) {
        const std::string where = files[0] + ":" + std::to_string(number);
        std::istringstream fields(line);
        unsigned ingress;
        uint64_t arrival;
        std::string text;
        if (!(fields >> ingress >> arrival >> text) || ingress >> INGRESS_BITS != 0)
            refuse(where + ": a line is: port, nanoseconds, bytes");
        const std::vector<uint8_t> bytes = bytes_of(text, where);
        if (bytes.size() > MAX_LENGTH)
            refuse(where + ": a packet has at most " + std::to_string(MAX_LENGTH) + " bytes");
        const bool waits = WL_ROUTERS == 0;
        const uint64_t cycle = waits ? 0 : arrival * 1000 / WL_PERIOD_PS;
        wl_offer(simulation, bytes.data(), uint32_t(bytes.size()), uint16_t(ingress), arrival,
                 cycle, waits);
    }

    // What became of packets, by their numbers: those of several lanes, narrow ports or virtual
    // routers are told in another order.
    std::map<uint64_t, std::vector<std::string>> told;
    std::map<uint64_t, bool> ended;
    uint64_t next = 0;
    uint64_t compared = 0, wrong = 0;
    const auto compare = [&](const std::string &got) {
        if (!std::getline(expected, line)) line = "nothing more";
        ++compared;
        if (line == got) return;
        if (++wrong <= 5) std::cout << "expected: " << line << "\n     got: " << got << "\n";
    };
    wl_state state{};
    for (;;) {
        if (wl_run(simulation, 256, 0) != 0) {
            std::cout << "the simulation failed: " << wl_error(simulation) << "\n";
            return 1;
        }
        wl_left left;
        while (wl_take(simulation, &left)) {
            told[left.number].push_back(line_of(left));
            if (!is_copy(left.kind)) ended[left.number] = true;
        }
        for (; ended.erase(next) != 0; ++next) {
            for (const std::string &got : told[next])
                if (!got.empty()) compare(got);
            told.erase(next);
        }
        wl_state_of(simulation, &state);
        if (state.waiting == 0 && state.inside == 0) break;
    }
    while (std::getline(expected, line)) {
        ++compared;
        if (++wrong <= 5) std::cout << "expected: " << line << "\n     got: nothing\n";
    }
    wl_close(simulation);
    std::cout << state.cycles << " cycles, " << compared << " outputs compared, " << wrong
              << " differ\n"
              << (wrong == 0 ? "PASS" : "FAIL") << "\n";
    return wrong == 0 ? 0 : 1;
}
