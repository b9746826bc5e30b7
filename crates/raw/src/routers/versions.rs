//! The paper's IPv4 routers and their boards: line cards, memories, tables.

use wireloom_isa::raw::Network;

use crate::asm::{Program, Refused, assemble_with};
use crate::board::{Board, BoardSpec, Edge};
use crate::device::{Buffer, InputSpec, LineRate, MemorySpec, OutputSpec, Place, Rest, Ring};
use crate::dir24::{self, DirError, Route};
use crate::layout::Side;

use super::{PORTS, part};

/// Addresses of the tables and queues of ports 0 and 1, and of ports 2 and 3.
const TABLES: [u32; 2] = [0x1000_0000, 0x2000_0000];
const TABLE_BYTES: u32 = dir24::FIRST_BYTES + dir24::SECOND_BYTES;
const QUEUES: [u32; 2] = [0x4000_0000, 0x4100_0000];
const QUEUE_BYTES: u32 = 0x2_0000;
/// Addresses of the packet buffers by port: in separate memories, after the queues, and in the
/// cards.
const BUFFERS: [[u32; 4]; 3] = [
    [0x5000_0000, 0x5010_0000, 0x5100_0000, 0x5110_0000],
    [0x5000_0000, 0x4010_0000, 0x4110_0000, 0x5100_0000],
    [0x6000_0000, 0x6010_0000, 0x6020_0000, 0x6030_0000],
];
const BUFFER_BYTES: u32 = 0x10_0000;
/// No tail begins after this offset in its buffer.
const BUFFER_LAST: u32 = 0xf_f000;
/// Limit on the tails in a card of version IV (assumed).
const KEPT: usize = 16;

/// A version of the router.
#[derive(Clone, Copy, Debug)]
pub struct Version {
    /// The paper's name: I, II, III, III.d, IV, V. Intermediate versions have our own names.
    pub name: &'static str,
    /// The file in programs/raw.
    pub file: &'static str,
    pub text: &'static str,
    /// Whether each port has a row and the stages are in the columns. Otherwise the layout is
    /// turned.
    is_in_rows: bool,
    /// Words of a packet, after the first, that go to the stages.
    head: usize,
    /// Lines that a card requests, and that a memory works on, at a time.
    outstanding: usize,
    buffers: Buffers,
}

/// The place of packet tails in a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Buffers {
    /// In two memories, written in lines over the memory network.
    Shared { is_half_duplex: bool },
    /// In a memory for each port, written in lines over the memory network. With masks, each line
    /// has a mask of its bytes, as in the DMA protocol.
    OverMemoryNetwork { has_masks: bool },
    /// In a memory for each port, written in lines without masks over the memory network. Heads
    /// come as messages of the general network.
    Dynamic,
    /// In a memory for each port, written in lines over the static network.
    Lines,
    /// In a memory for each port, as a stream.
    Streams { announces: bool },
    /// In the cards.
    Cards,
}

macro_rules! version {
    ($name:literal, $file:literal, $layout:ident, $head:literal, $lines:literal, $buffers:expr) => {
        Version {
            name: $name,
            file: $file,
            text: include_str!(concat!("../../../../programs/raw/", $file)),
            is_in_rows: matches!(Layout::$layout, Layout::Rows),
            head: $head,
            outstanding: $lines,
            buffers: $buffers,
        }
    };
}

enum Layout {
    Rows,
    Columns,
}

const STREAMS: Buffers = Buffers::Streams { announces: false };
const OVER_MEMORY_NETWORK: Buffers = Buffers::OverMemoryNetwork { has_masks: false };

/// The paper's versions: the file, the layout, words of a head, lines at a time (more than one from
/// version III on), and buffers.
pub const VERSIONS: [Version; 6] = [
    version!("I", "version-1.rasm", Rows, 8, 1, Buffers::Shared { is_half_duplex: true }),
    version!("II", "version-2.rasm", Columns, 8, 1, Buffers::Lines),
    version!("III", "version-3.rasm", Columns, 16, 4, STREAMS),
    version!("III.d", "version-3d.rasm", Columns, 16, 4, Buffers::Dynamic),
    version!("IV", "version-4.rasm", Columns, 16, 4, Buffers::Cards),
    version!("V", "version-5.rasm", Columns, 16, 4, Buffers::Streams { announces: true }),
];

/// Routers between the paper's versions. They differ from each other in one property.
pub const STEPS: [Version; 9] = [
    version!(
        "I-full-duplex",
        "version-1.rasm",
        Rows,
        8,
        1,
        Buffers::Shared { is_half_duplex: false }
    ),
    version!(
        "I-four-memories",
        "version-1.rasm",
        Rows,
        8,
        1,
        Buffers::OverMemoryNetwork { has_masks: true }
    ),
    version!("I-lines", "version-1.rasm", Rows, 8, 1, OVER_MEMORY_NETWORK),
    version!("turned", "step-turned.rasm", Columns, 8, 1, OVER_MEMORY_NETWORK),
    version!("III-one-line", "step-static-lines.rasm", Columns, 16, 1, Buffers::Lines),
    version!("III-lines", "step-static-lines.rasm", Columns, 16, 4, Buffers::Lines),
    version!("III-memory-network", "step-memory-lines.rasm", Columns, 16, 4, OVER_MEMORY_NETWORK),
    version!("III-rows", "step-rows.rasm", Rows, 16, 4, OVER_MEMORY_NETWORK),
    version!("IV-rows", "step-kept-rows.rasm", Rows, 16, 4, Buffers::Cards),
];

/// The conditions of a run of a router.
#[derive(Clone, Debug)]
pub struct Setting {
    pub rate: LineRate,
    /// The input cards' policy for packets that the chip cannot take.
    pub buffer: Buffer,
    /// The ports that have cards.
    pub ports: Vec<u8>,
    /// Cycles of the memories from a request to its line; none for the description's value.
    pub latency_cycles: Option<u32>,
    /// Lines that a card requests, and that a memory works on, at a time; none for the paper's
    /// value.
    pub outstanding: Option<usize>,
    /// Whether lookups read both tables from memory each time. If so, the lines that they read
    /// leave the cache.
    pub reads_tables_from_memory: bool,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            rate: LineRate::UNLIMITED,
            buffer: Buffer::Stall,
            ports: (0..PORTS).collect(),
            latency_cycles: None,
            outstanding: None,
            reads_tables_from_memory: false,
        }
    }
}

impl Version {
    /// Returns the version with a name.
    ///
    /// # Panics
    /// If there is no such version.
    pub fn named(name: &str) -> &'static Self {
        let mut all = VERSIONS.iter().chain(&STEPS);
        all.find(|version| version.name == name).expect("a version of the router")
    }

    /// Assembles the version's programs.
    ///
    /// # Errors
    /// If the text has errors.
    pub fn program(&self) -> Result<Program, Refused> {
        self.program_for(&Setting::default())
    }

    /// Assembles the version's programs for a setting.
    ///
    /// # Errors
    /// If the text has errors.
    pub fn program_for(&self, setting: &Setting) -> Result<Program, Refused> {
        let read = |name: &str| match name {
            "parts/line-keep.rasm" if setting.reads_tables_from_memory => {
                part("parts/line-drop.rasm")
            }
            name => part(name),
        };
        assemble_with(self.file, self.text, &read).map(|(program, _)| program)
    }

    /// Returns the version's board.
    pub fn board(&self, setting: &Setting) -> BoardSpec {
        let memories = self.memories(setting);
        let mut places: Vec<Place> = memories.iter().map(place).collect();
        if self.buffers == Buffers::Cards {
            let card = |port: u8| {
                let ((tile, side), base) = (self.input_edge(port), self.buffer(port));
                Place { base, bytes: BUFFER_BYTES, tile, side }
            };
            places = (0..PORTS).map(card).collect();
        }
        let output = |port: &u8| {
            let ((tile, side), card) = (self.output_edge(*port), OutputSpec::new(Network::General));
            let outstanding = self.outstanding(setting);
            let memories = places.clone();
            ((tile, side), OutputSpec { interrupts: Some(tile), memories, outstanding, ..card })
        };
        let input = |port: &u8| (self.input_edge(*port), self.input(*port, setting, &places));
        BoardSpec {
            inputs: setting.ports.iter().map(input).collect(),
            outputs: setting.ports.iter().map(output).collect(),
            memories,
        }
    }

    /// Writes routes into the tables of the version's board.
    ///
    /// # Errors
    /// If they do not fit.
    pub fn write_routes(&self, board: &mut Board, routes: &[Route]) -> Result<(), DirError> {
        for (half, base) in TABLES.into_iter().enumerate() {
            let memory = board.memory(self.table_edge(half)).ok_or(DirError::Memory(base))?;
            dir24::write(memory, base, routes)?;
        }
        Ok(())
    }

    /// Returns the tile of a stage, 0 to 3, of a port.
    pub fn tile(&self, stage: u8, port: u8) -> (u8, u8) {
        if self.is_in_rows { (stage, port) } else { (port, stage) }
    }

    /// Returns the edge of the chip at which packets of a port enter.
    pub fn input_edge(&self, port: u8) -> Edge {
        if self.is_in_rows { ((0, port), Side::West) } else { ((port, 0), Side::North) }
    }

    /// Returns the edge of the chip at which packets to a port leave.
    pub fn output_edge(&self, port: u8) -> Edge {
        if self.is_in_rows { ((3, port), Side::East) } else { ((port, 3), Side::South) }
    }

    fn table_edge(&self, half: usize) -> Edge {
        match (self.is_in_rows, half) {
            (true, 0) => ((0, 0), Side::North),
            (true, _) => ((0, 3), Side::South),
            (false, 0) => ((0, 0), Side::West),
            (false, _) => ((3, 0), Side::East),
        }
    }

    fn buffer(&self, port: u8) -> u32 {
        let kind = match self.buffers {
            Buffers::Cards => 2,
            _ if self.is_in_rows => 0,
            _ => 1,
        };
        BUFFERS[kind][usize::from(port)]
    }

    /// Returns the number of lines that a card requests at a time.
    fn outstanding(&self, setting: &Setting) -> usize {
        setting.outstanding.unwrap_or(self.outstanding)
    }

    fn memories(&self, setting: &Setting) -> Vec<(Edge, MemorySpec)> {
        let memory = |edge: Edge, base: u32, bytes: u32| {
            let mut memory = MemorySpec { base, ..MemorySpec::full_duplex(bytes) };
            memory.latency_cycles = setting.latency_cycles.unwrap_or(memory.latency_cycles);
            (edge, memory)
        };
        let mut memories: Vec<_> =
            (0..2).map(|half| memory(self.table_edge(half), TABLES[half], TABLE_BYTES)).collect();
        if self.is_in_rows {
            memories.push(memory(((3, 0), Side::North), QUEUES[0], QUEUE_BYTES));
            memories.push(memory(((3, 3), Side::South), QUEUES[1], QUEUE_BYTES));
            memories.extend(self.buffers_of_rows(setting, &memory));
            return memories;
        }
        for (half, (column, side)) in [(0, Side::West), (3, Side::East)].into_iter().enumerate() {
            let of_queues = 2 * BUFFER_BYTES;
            memories.push(memory(((column, 3), side), QUEUES[half], of_queues));
            let port = if half == 0 { 0 } else { 3 };
            memories.push(memory(((column, 1), side), BUFFERS[1][port], BUFFER_BYTES));
        }
        for (_, memory) in &mut memories[2..] {
            memory.outstanding = self.outstanding(setting);
            memory.takes_static_messages = self.buffers == Buffers::Lines;
        }
        memories
    }

    /// Returns the packet memories of a router with its ports in the rows: at tiles 2 and 14, or at
    /// 1, 2, 13 and 14.
    fn buffers_of_rows(
        &self,
        setting: &Setting,
        memory: &dyn Fn(Edge, u32, u32) -> (Edge, MemorySpec),
    ) -> Vec<(Edge, MemorySpec)> {
        let (columns, ports, is_half_duplex) = match self.buffers {
            Buffers::Cards => return Vec::new(),
            Buffers::Shared { is_half_duplex } => (2..3, 2, is_half_duplex),
            _ => (1..3, 1, false),
        };
        let sides = [(0, Side::North), (3, Side::South)].into_iter();
        let edges = sides.flat_map(|(row, side)| columns.clone().map(move |c| ((c, row), side)));
        let buffers = edges.zip(BUFFERS[0].into_iter().step_by(ports as usize));
        let buffers = buffers.map(|(edge, base)| {
            let (edge, memory) = memory(edge, base, ports * BUFFER_BYTES);
            let outstanding = self.outstanding(setting);
            (edge, MemorySpec { is_half_duplex, outstanding, ..memory })
        });
        buffers.collect()
    }

    fn input(&self, port: u8, setting: &Setting, places: &[Place]) -> InputSpec {
        let ring = Ring { base: self.buffer(port), last: BUFFER_LAST };
        let head = self.head;
        let lines = |over_memory_network, has_mask| {
            let is_here = |place: &&Place| ring.base.wrapping_sub(place.base) < place.bytes;
            let memory = *places.iter().find(is_here).expect("each port has a buffer");
            Rest::Lines { head, memory, ring, over_memory_network, has_mask }
        };
        let card = InputSpec::new(port.into(), Network::Static1);
        let (rate, buffer) = (setting.rate, setting.buffer);
        let card = InputSpec { rate, buffer, least_words: head, ..card };
        match self.buffers {
            Buffers::Shared { .. } => InputSpec { rest: lines(true, true), ..card },
            Buffers::OverMemoryNetwork { has_masks } => {
                InputSpec { rest: lines(true, has_masks), ..card }
            }
            Buffers::Lines => InputSpec { rest: lines(false, false), ..card },
            Buffers::Streams { announces } => {
                let interrupts = Some((port, 0));
                InputSpec { interrupts, announces, quiet_bytes: 4 * head, ..card }
            }
            Buffers::Dynamic => {
                let copies = (0..3).map(|row| (port, row)).collect();
                let network = Network::General;
                InputSpec { rest: lines(true, false), copies, network, ..card }
            }
            Buffers::Cards => InputSpec { rest: Rest::Kept { head, ring, most: KEPT }, ..card },
        }
    }
}

fn place((edge, memory): &(Edge, MemorySpec)) -> Place {
    Place { base: memory.base, bytes: memory.bytes, tile: edge.0, side: edge.1 }
}
