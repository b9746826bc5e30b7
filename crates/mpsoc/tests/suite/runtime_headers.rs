//! The runtime headers for C programs repeat the numbers of crates/mpsoc/src/mpe.rs. Each number is
//! compared here, so that a change on one side fails until the other follows.

use wireloom_mpsoc::mpe;

const PLATFORM: &str = include_str!("../../runtime/wl_platform.h");
const PACKETS: &str = include_str!("../../runtime/wl_packets.h");
const MESSAGES: &str = include_str!("../../../codegen-c/runtime/thread/messages.h");
const PACKET: &str = include_str!("../../../codegen-c/runtime/thread/packet.h");

/// The first number after `before`, searched from the first `within` on.
fn number(header: &str, within: &str, before: &str) -> u64 {
    let found = header.split_once(within).and_then(|(_, rest)| rest.split_once(before));
    let (_, rest) = found.unwrap_or_else(|| panic!("no `{before}` after `{within}`"));
    let digits: String = rest.chars().take_while(|c| c.is_ascii_hexdigit() || *c == 'x').collect();
    let parsed = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    parsed.unwrap_or_else(|_| panic!("no number but `{digits}` after `{within}` and `{before}`"))
}

#[test]
fn addresses_and_registers_are_those_of_the_machine() {
    let register = |address: u32| u64::from(address - mpe::REGISTERS);
    let (local, registers, calls) =
        (mpe::LOCAL_STORE.into(), mpe::REGISTERS.into(), mpe::CALLS.into());
    for (header, within, before, expected) in [
        (PLATFORM, "WL_LOCAL", "UINT32_C(", local),
        (PLATFORM, "WL_REGISTER(", "UINT32_C(", registers),
        (PLATFORM, "WL_ANSWER_WORDS", "WL_LOCAL + ", mpe::ANSWERS as u64),
        (PLATFORM, "WL_ARGUMENT_WORDS", "WL_LOCAL + ", mpe::ARGUMENTS as u64),
        (PLATFORM, "WL_REPLY_WORDS", "WL_LOCAL + ", mpe::REPLIES as u64),
        (PLATFORM, "enum", "WL_CONSOLE = ", mpe::CONSOLE.into()),
        (PLATFORM, "enum", "WL_BROKER = ", mpe::BROKER.into()),
        (PLATFORM, "enum", "WL_THREAD_MANAGER = ", mpe::THREAD_MANAGER.into()),
        (PLATFORM, "enum", "WL_ONE_WAY = ", mpe::TICKETS as u64),
        (PLATFORM, "wl_call(", "WL_ONE_WAY ? ", mpe::ONE_WAY.into()),
        (PLATFORM, "wl_call(", "UINT32_C(", calls),
        (PLATFORM, "wl_wait(", "WL_REGISTER(", register(mpe::WAIT)),
        (PLATFORM, "wl_cycles(", "WL_REGISTER(", register(mpe::CYCLES)),
        (PACKETS, "wl_packet_receive", "WL_REGISTER(", register(mpe::RECEIVE)),
        (PACKETS, "wl_packet_byte", "((", mpe::FRONT as u64),
        (PACKETS, "wl_packet_end", "WL_REGISTER(", register(mpe::SEND)),
        (PACKETS, "wl_packet_send", "WL_REGISTER(", register(mpe::EGRESS)),
        (PACKETS, "enum", "WL_WINDOW = ", wireloom_net::packet::WINDOW as u64),
        (MESSAGES, "WL_STORE", "UINT32_C(", local),
        (MESSAGES, "WL_ENGINE", "UINT32_C(", registers),
        (MESSAGES, "WL_OBJECTS", "UINT32_C(", calls),
        (MESSAGES, "WL_RECEIVE", "WL_REGISTER(", register(mpe::RECEIVE)),
        (MESSAGES, "WL_EGRESS", "WL_REGISTER(", register(mpe::EGRESS)),
        (MESSAGES, "WL_FRONT", "WL_REGISTER(", register(mpe::WINDOW_FRONT)),
        (MESSAGES, "WL_END", "WL_REGISTER(", register(mpe::WINDOW_END)),
        (MESSAGES, "WL_LENGTH", "WL_REGISTER(", register(mpe::LENGTH)),
        (MESSAGES, "WL_SEND", "WL_REGISTER(", register(mpe::SEND)),
        (MESSAGES, "WL_RELEASE", "WL_REGISTER(", register(mpe::RELEASE)),
        (MESSAGES, "WL_WAIT(", "WL_REGISTER(", register(mpe::WAIT)),
        (MESSAGES, "WL_INFORMATION", "WL_STORE + ", mpe::INFORMATION as u64),
        (MESSAGES, "WL_ARGUMENTS", "WL_STORE + ", mpe::ARGUMENTS as u64),
        (MESSAGES, "WL_REPLIES", "WL_STORE + ", mpe::REPLIES as u64),
        (MESSAGES, "define WL_FIELD", "UINT32_C(", mpe::FIELD.into()),
        (PACKET, "enum", "WL_BEGIN = ", mpe::FRONT as u64),
    ] {
        assert_eq!(number(header, within, before), expected, "`{before}` after `{within}`");
    }
}

#[test]
fn a_program_finds_the_length_and_the_port_of_its_packet() {
    // The order of the packet information words of a thread.
    let information =
        mpe::Information { number: 1, length: 0x1111, ingress: 0x2222, arrival_ns: 3, loaded: 4 };
    let place = |value: u32| {
        let word =
            information.words().iter().position(|word| *word == value).expect("a word has it");
        mpe::INFORMATION as u64 + 4 * word as u64
    };
    assert_eq!(number(PACKETS, "wl_packet_length", "WL_LOCAL + "), place(0x1111));
    assert_eq!(number(PACKETS, "wl_packet_ingress", "WL_LOCAL + "), place(0x2222));
}
