//! The switch processor. Its words have 64 bits: one control operation and a set of routes.
//!
//! The layout of the word is assumed. From the lowest bit:
//!
//! | bits | field |
//! |---|---|
//! | 0 to 12 | constant: a target or a value |
//! | 13, 14 | source register |
//! | 15, 16 | destination register |
//! | 17 to 20 | control operation |
//! | 21 to 35 | sources of static network 1, 3 bits for each destination |
//! | 36 to 50 | sources of static network 2, 3 bits for each destination |
//! | 51 to 53 | source of the word of static network 1 for the switch itself, `$swi` |
//!
//! The other bits are 0.

use std::fmt::Write;

/// The number of words of a switch's memory (public: 64 KB of words of 64 bits).
pub const MEMORY_WORDS: usize = 8192;

/// The number of registers of a switch (public).
pub const REGISTERS: usize = 4;

macro_rules! control {
    ($($(#[$attribute:meta])? $op:ident $mnemonic:literal [$($slot:ident),*] $meaning:literal;)*) => {
        /// A control operation.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Control {
            $(#[doc = $meaning] $(#[$attribute])? $op,)*
        }

        /// The control operations by their codes: name, operands, meaning.
        pub const CONTROL: &[(Control, &str, &[Slot], &str)] =
            &[$((Control::$op, $mnemonic, &[$(Slot::$slot),*], $meaning),)*];
    };
}

/// An operand of a control operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The destination register.
    Destination,
    /// The source register.
    Source,
    /// The number of an instruction.
    Target,
    /// A constant of 13 bits.
    Value,
}

control! {
    #[default]
    Nop "nop" [] "only route";
    Halt "halt" [] "route, then stop the switch";
    Move "move" [Destination, Source] "destination = source";
    Set "movei" [Destination, Value] "destination = constant";
    Jump "j" [Target] "jump";
    JumpRegister "jr" [Source] "jump to the instruction of the number in source";
    Bnez "bnez" [Source, Target] "branch if source is not 0";
    Beqz "beqz" [Source, Target] "branch if source is 0";
    Bnezd "bnezd" [Destination, Source, Target] "branch if source is not 0; destination = source - 1";
    Receive "recv" [Destination] "destination = the word that is routed to `$swi`, or without such a route that of `$csto`";
}

/// The source of a route, a port of the crossbar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Source {
    /// From the north.
    North = 1,
    /// From the east.
    East,
    /// From the south.
    South,
    /// From the west.
    West,
    /// From the tile processor.
    Tile,
}

/// The sources, by their codes from 1.
pub const SOURCES: [Source; 5] =
    [Source::North, Source::East, Source::South, Source::West, Source::Tile];

/// The destinations of a network's crossbar: north, east, south, west, tile.
pub const DESTINATIONS: usize = 5;

/// The name of the switch as a destination of network 1.
pub const SWITCH: &str = "$swi";

const NAMES: [[(&str, &str); DESTINATIONS]; 2] = [
    [("$cNi", "$cNo"), ("$cEi", "$cEo"), ("$cSi", "$cSo"), ("$cWi", "$cWo"), ("$csto", "$csti")],
    [
        ("$cN2i", "$cN2o"),
        ("$cE2i", "$cE2o"),
        ("$cS2i", "$cS2o"),
        ("$cW2i", "$cW2o"),
        ("$csto2", "$csti2"),
    ],
];

/// Returns the names of a port of a crossbar, as a source and as a destination. `network` is 0 or
/// 1.
pub fn port_names(network: usize, port: usize) -> (&'static str, &'static str) {
    NAMES[network][port]
}

/// Returns the network and the port of a source name.
pub fn source_of(name: &str) -> Option<(usize, Source)> {
    find(|names| names.0 == name).map(|(network, port)| (network, SOURCES[port]))
}

/// Returns the network and the port of a destination name.
pub fn destination_of(name: &str) -> Option<(usize, usize)> {
    find(|names| names.1 == name)
}

fn find(is_it: impl Fn(&(&str, &str)) -> bool) -> Option<(usize, usize)> {
    NAMES
        .iter()
        .enumerate()
        .find_map(|(network, ports)| Some((network, ports.iter().position(&is_it)?)))
}

/// An instruction of the switch. Unused fields are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// The control operation.
    pub control: Control,
    /// The destination register, 0 to 3.
    pub destination: u8,
    /// The source register, 0 to 3.
    pub source: u8,
    /// A target or a value, 13 bits.
    pub constant: u16,
    /// The source of each destination of both networks.
    pub routes: [[Option<Source>; DESTINATIONS]; 2],
    /// The source of the word of network 1 that `recv` takes.
    pub own: Option<Source>,
}

/// The error of a word that is not an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:#018x} is no instruction of the switch processor")]
pub struct Undefined(pub u64);

impl Instruction {
    /// Whether the instruction moves any word.
    pub fn has_routes(&self) -> bool {
        self.routes.iter().flatten().any(Option::is_some)
    }

    /// Whether `recv` takes the word of `$csto` without a route.
    pub fn receives(&self) -> bool {
        self.control == Control::Receive && self.own.is_none()
    }

    fn slots(&self) -> &'static [Slot] {
        CONTROL[self.control as usize].2
    }
}

/// The lowest bit of the field for the source of the switch's own word.
const OWN: u32 = 51;

/// Encodes an instruction.
pub fn encode(instruction: &Instruction) -> u64 {
    let mut word = u64::from(instruction.constant & 0x1fff)
        | u64::from(instruction.source & 3) << 13
        | u64::from(instruction.destination & 3) << 15
        | (instruction.control as u64) << 17;
    for (place, route) in instruction.routes.iter().flatten().enumerate() {
        word |= route.map_or(0, |source| source as u64) << (21 + 3 * place);
    }
    word | instruction.own.map_or(0, |source| source as u64) << OWN
}

/// Decodes a word.
///
/// # Errors
/// If a code is undefined, or a bit is set that the operation does not use.
pub fn decode(word: u64) -> Result<Instruction, Undefined> {
    let undefined = Undefined(word);
    let row = CONTROL.get((word >> 17 & 15) as usize).ok_or(undefined)?;
    let mut instruction = Instruction {
        control: row.0,
        destination: (word >> 15 & 3) as u8,
        source: (word >> 13 & 3) as u8,
        constant: (word & 0x1fff) as u16,
        routes: Default::default(),
        own: None,
    };
    let slots = instruction.slots();
    let is_clean = |is_zero: bool, any: &[Slot]| is_zero || any.iter().any(|s| slots.contains(s));
    if !is_clean(instruction.destination == 0, &[Slot::Destination])
        || !is_clean(instruction.source == 0, &[Slot::Source])
        || !is_clean(instruction.constant == 0, &[Slot::Target, Slot::Value])
        || word >> (OWN + 3) != 0
    {
        return Err(undefined);
    }
    let source = |bit: usize| match (word >> bit & 7) as usize {
        0 => Ok(None),
        code => SOURCES.get(code - 1).copied().map(Some).ok_or(undefined),
    };
    for (place, route) in instruction.routes.iter_mut().flatten().enumerate() {
        *route = source(21 + 3 * place)?;
    }
    instruction.own = source(OWN as usize)?;
    let is_wrong = match instruction.control {
        Control::Receive if instruction.own.is_none() => {
            instruction.routes[0].contains(&Some(Source::Tile))
        }
        Control::Receive => false,
        _ => instruction.own.is_some(),
    };
    if is_wrong {
        return Err(undefined);
    }
    Ok(instruction)
}

/// Writes an instruction as the assembler reads it. A target is `l` with its number.
pub fn disassemble(instruction: &Instruction) -> String {
    let mut operands = Vec::new();
    for slot in instruction.slots() {
        operands.push(match slot {
            Slot::Destination => format!("${}", instruction.destination),
            Slot::Source => format!("${}", instruction.source),
            Slot::Target => format!("l{}", instruction.constant),
            Slot::Value => instruction.constant.to_string(),
        });
    }
    let name = CONTROL[instruction.control as usize].1;
    let mut text = format!("{name} {}", operands.join(", ")).trim_end().to_owned();
    let mut between = " route ";
    for (network, routes) in instruction.routes.iter().enumerate() {
        for (port, route) in routes.iter().enumerate() {
            if let Some(source) = route {
                let from = NAMES[network][*source as usize - 1].0;
                let _ = write!(text, "{between}{from}->{}", NAMES[network][port].1);
                between = ", ";
            }
        }
    }
    if let Some(source) = instruction.own {
        let _ = write!(text, "{between}{}->{SWITCH}", NAMES[0][source as usize - 1].0);
    }
    text
}
