//! The hand-written routers of programs/raw, with their boards.

use wireloom_isa::raw::Network;

use crate::board::BoardSpec;
use crate::device::{Buffer, InputSpec, LineRate, MemorySpec, OutputSpec};
use crate::layout::Side;

mod parts;
mod reference;
mod versions;

pub use parts::part;
pub use reference::{Checked, Reference, store};
pub use versions::{STEPS, Setting, VERSIONS, Version};

/// The null router whose stages store packets: programs/raw/null.rasm.
pub const NULL: &str = include_str!("../../../programs/raw/null.rasm");
/// The null router of switches: programs/raw/null-switches.rasm.
pub const NULL_SWITCHES: &str = include_str!("../../../programs/raw/null-switches.rasm");

/// Ports of the paper's routers.
pub const PORTS: u8 = 4;
/// Returns the board of the null routers. Output lines take packets as fast as the chip sends them.
pub fn null_board(rate: LineRate, buffer: Buffer) -> BoardSpec {
    let input = |column: u8| {
        let card = InputSpec::new(column.into(), Network::Static1);
        (((column, 0), Side::North), InputSpec { rate, buffer, ..card })
    };
    let output = |column| (((column, 3), Side::South), OutputSpec::new(Network::Static1));
    let memory = MemorySpec { base: 0x10000, ..MemorySpec::full_duplex(0x10000) };
    let memories = vec![(((0, 1), Side::West), memory)];
    BoardSpec {
        inputs: (0..PORTS).map(input).collect(),
        outputs: (0..PORTS).map(output).collect(),
        memories,
    }
}
