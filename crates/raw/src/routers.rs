//! The routers of programs/raw, written by hand, with the boards that they are for.

use wireloom_isa::raw::Network;

use crate::board::{Board, BoardSpec};
use crate::device::{Buffer, InputSpec, LineRate, MemorySpec, OutputSpec, Place};
use crate::dir24::{self, DirError, Route};
use crate::layout::Side;

/// The null router whose stages store packets: programs/raw/null.rasm.
pub const NULL: &str = include_str!("../../../programs/raw/null.rasm");
/// The null router of switches: programs/raw/null-switches.rasm.
pub const NULL_SWITCHES: &str = include_str!("../../../programs/raw/null-switches.rasm");
/// The IPv4 router, the paper's version III: programs/raw/ipv4.rasm.
pub const IPV4: &str = include_str!("../../../programs/raw/ipv4.rasm");

/// Ports of the paper's routers.
pub const PORTS: u8 = 4;
/// Where the tables and the queues of columns 0 and 1 are, and of columns 2 and 3.
const TABLES: [u32; 2] = [0x1000_0000, 0x2000_0000];
const QUEUES: [u32; 2] = [0x4000_0000, 0x4100_0000];
/// Queues, and a buffer of packets 1 MB after them.
const QUEUE_BYTES: u32 = 0x20_0000;
/// Where the buffers of columns 0 and 3 are.
const BUFFERS: [u32; 2] = [0x5000_0000, 0x5100_0000];
const BUFFER_BYTES: u32 = 0x10_0000;
/// Words of a packet that IPV4 expects after the first.
const PADDED_WORDS: usize = 16;

/// The cards: a packet comes at the north of its column and leaves at the south of one.
fn cards(rate: LineRate, buffer: Buffer, output: &OutputSpec, least_words: usize) -> BoardSpec {
    let input = |column: u8| {
        let (port, network, interrupts) = (column.into(), Network::Static1, None);
        let card = InputSpec { port, network, rate, buffer, least_words, interrupts };
        (((column, 0), Side::North), card)
    };
    let outputs = (0..PORTS).map(|column| (((column, 3), Side::South), output.clone()));
    BoardSpec {
        inputs: (0..PORTS).map(input).collect(),
        outputs: outputs.collect(),
        memories: vec![],
    }
}

/// The board of the null routers. Output lines take what the chip gives.
pub fn null_board(rate: LineRate, buffer: Buffer) -> BoardSpec {
    let (network, unlimited) = (Network::Static1, LineRate::UNLIMITED);
    let output = OutputSpec { network, rate: unlimited, interrupts: None, memories: vec![] };
    let memory = MemorySpec { base: 0x10000, ..MemorySpec::full_duplex(0x10000) };
    let memories = vec![(((0, 1), Side::West), memory)];
    BoardSpec { memories, ..cards(rate, buffer, &output, 0) }
}

/// The board of [`IPV4`]: memories at both ends of three rows, with tables at row 0, buffers of
/// columns 0 and 3 at row 1, queues and buffers of columns 1 and 2 at row 3.
pub fn ipv4_board(rate: LineRate, buffer: Buffer) -> BoardSpec {
    let mut memories = Vec::new();
    for (number, (column, side)) in [(0, Side::West), (3, Side::East)].into_iter().enumerate() {
        let tables = dir24::FIRST_BYTES + dir24::SECOND_BYTES;
        for (row, base, bytes) in [
            (0, TABLES[number], tables),
            (1, BUFFERS[number], BUFFER_BYTES),
            (3, QUEUES[number], QUEUE_BYTES),
        ] {
            let memory = MemorySpec { base, ..MemorySpec::full_duplex(bytes) };
            memories.push((((column, row), side), memory));
        }
    }
    let places = memories.iter().map(|((tile, side), memory)| Place {
        base: memory.base,
        bytes: memory.bytes,
        tile: *tile,
        side: *side,
    });
    let (network, unlimited) = (Network::General, LineRate::UNLIMITED);
    let memories_of_cards = places.collect();
    let output =
        OutputSpec { network, rate: unlimited, interrupts: None, memories: memories_of_cards };
    let mut board = BoardSpec { memories, ..cards(rate, buffer, &output, PADDED_WORDS) };
    for (tile, card) in &mut board.outputs {
        card.interrupts = Some(tile.0);
    }
    board
}

/// Writes routes into the tables of a board of [`IPV4`].
///
/// # Errors
/// If they have no place.
pub fn write_routes(board: &mut Board, routes: &[Route]) -> Result<(), DirError> {
    for (base, edge) in TABLES.into_iter().zip([((0, 0), Side::West), ((3, 0), Side::East)]) {
        let memory = board.memory(edge).ok_or(DirError::Memory(base))?;
        dir24::write(memory, base, routes)?;
    }
    Ok(())
}
