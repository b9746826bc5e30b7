//! Sends packets to the port of their egress, whichever chain executed them.
//!
//! The last tile of a chain sends messages over the general network to the devices at the ports
//! (ports.s). A short packet is one message ([`WHOLE`]). Longer packets begin with a message with
//! their side word and first word; messages with at most 31 of their words follow. The device puts
//! the messages of each sender together.

use wireloom_isa::raw::Network;
use wireloom_isa::raw::tile::decode;

/// The user bit in the header of a message with a whole packet.
pub const WHOLE: u32 = 1 << 20;

/// The ports at which packets leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// The number of ports. An egress is taken modulo this number.
    pub count: u32,
    /// The address of the headers of messages to each port, without a length.
    pub table: u32,
    /// The header of messages to the chain's own port, for verdicts without an egress.
    pub own: u32,
}

impl Ports {
    /// Replaces the names of numbers in a text.
    pub(super) fn put_in(self, text: &str, has_beside: bool) -> String {
        let Self { count, table, own } = self;
        let modulo = if count.is_power_of_two() {
            format!("        andi $v0, $v0, {}\n", count - 1)
        } else {
            format!("        li $v1, {count}\n        divu $v0, $v1\n        mfhi $v0\n")
        };
        let more = u32::from(has_beside);
        // The length is in the upper half of a header, from bit 24 on.
        let length = |words: u32| (words + more) << 8;
        text.replace("PORT_MODULO\n", &modulo)
            .replace("PORT_TABLE", &table.to_string())
            .replace("OWN_PORT", &own.to_string())
            .replace("HEAD_LENGTH", &length(3).to_string())
            .replace("HEAD_WORDS", &(3 + more).to_string())
            .replace("WHOLE", &(WHOLE >> 16).to_string())
            .replace("LEAVE_LENGTH", &length(2).to_string())
    }
}

/// Returns whether the program of a tile reads from the general network, and whether it writes to
/// it.
pub fn uses_general(words: &[u32]) -> [bool; 2] {
    let is_general = |register: &wireloom_isa::raw::Register| {
        register.network().is_some_and(|network| network == Network::General)
    };
    let all = || words.iter().filter_map(|word| decode(*word).ok());
    [
        all().any(|one| one.read().iter().flatten().any(is_general)),
        all().any(|one| one.written().iter().any(is_general)),
    ]
}
