//! Registers of the tile processor. Four of them are network ports.

/// A network between tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Network {
    /// The first static network.
    Static1,
    /// The second static network.
    Static2,
    /// The general dynamic network.
    General,
    /// The memory dynamic network.
    Memory,
}

impl Network {
    /// All networks, by their numbers.
    pub const ALL: [Self; 4] = [Self::Static1, Self::Static2, Self::General, Self::Memory];

    /// Returns the name for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Static1 => "static network 1",
            Self::Static2 => "static network 2",
            Self::General => "general dynamic network",
            Self::Memory => "memory dynamic network",
        }
    }

    /// Returns the names of the register from which a tile reads, and of the register that it
    /// writes.
    pub fn register_names(self) -> (&'static str, &'static str) {
        let (_, input, output, _) = PORTS[self as usize];
        (input, output)
    }
}

/// The number of each network register (assumed), its names (public) and its network.
pub const PORTS: [(u8, &str, &str, Network); 4] = [
    (24, "$csti", "$csto", Network::Static1),
    (26, "$csti2", "$csto2", Network::Static2),
    (25, "$cgni", "$cgno", Network::General),
    (27, "$cmni", "$cmno", Network::Memory),
];

/// The names of the plain registers in the MIPS convention. Network registers have none here.
const NAMES: [&str; 32] = [
    "$zero", "$at", "$v0", "$v1", "$a0", "$a1", "$a2", "$a3", "$t0", "$t1", "$t2", "$t3", "$t4",
    "$t5", "$t6", "$t7", "$s0", "$s1", "$s2", "$s3", "$s4", "$s5", "$s6", "$s7", "", "", "", "",
    "$gp", "$sp", "$fp", "$ra",
];

/// A register of the tile processor, 0 to 31. Register 0 is always 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register(pub u8);

impl Register {
    /// The register that links calls.
    pub const RETURN_ADDRESS: Self = Self(31);

    /// Returns the network whose port the register is.
    #[inline]
    pub fn network(self) -> Option<Network> {
        match self.0 {
            24 => Some(Network::Static1),
            25 => Some(Network::General),
            26 => Some(Network::Static2),
            27 => Some(Network::Memory),
            _ => None,
        }
    }

    /// Returns the name of the register in an instruction that reads it (`is_read`) or writes it.
    pub fn name(self, is_read: bool) -> &'static str {
        match self.network() {
            Some(network) if is_read => network.register_names().0,
            Some(network) => network.register_names().1,
            None => NAMES[usize::from(self.0 & 31)],
        }
    }

    /// Looks up a name: of the MIPS convention, of a network port, or `$` with a number. Also
    /// returns how a port can be used: `Some(true)` only for reading, `Some(false)` only for
    /// writing.
    pub fn parse(name: &str) -> Option<(Self, Option<bool>)> {
        if let Some(row) = PORTS.iter().find(|row| row.1 == name) {
            return Some((Self(row.0), Some(true)));
        }
        if let Some(row) = PORTS.iter().find(|row| row.2 == name) {
            return Some((Self(row.0), Some(false)));
        }
        if let Some(number) = NAMES.iter().position(|other| !other.is_empty() && *other == name) {
            return Some((Self(number as u8), None));
        }
        let digits = name.strip_prefix('$')?;
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse().ok().filter(|number| *number < 32 && is_plain)?;
        Some((Self(number), None))
    }
}
