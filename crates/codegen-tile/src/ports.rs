//! Packets that leave at the port of their egress, whatever chain executed them.
//!
//! The last tile of a chain sends what leaves in messages of the general network to the devices at
//! the ports (ports.s): one with all of a short packet ([`WHOLE`]); or a message with what belongs to a
//! packet, then its words, at most 31 in each. The device puts those of each sender together.

use wireloom_isa::raw::Network;
use wireloom_isa::raw::tile::decode;

/// The bit of the header of a message that has a whole packet, among the user's.
pub const WHOLE: u32 = 1 << 20;

/// Where packets leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// The number of ports. The port of an egress is its remainder.
    pub count: u32,
    /// The address of the headers of messages to each, without a length.
    pub table: u32,
    /// The header of messages to the chain's own port, for what has no egress.
    pub own: u32,
}

impl Ports {
    /// Puts the numbers in place of their names.
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

/// Whether the program of a tile reads words of the general network, and whether it writes some.
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
