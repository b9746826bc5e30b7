//! The NePSim benchmarks, rewritten in microcode: programs/microcode/benchmarks.
//!
//! *Receiving* engines take packets and process them; *transmitting* engines send them. A
//! [`Mapping`] assigns the roles, and a [`Turn`] is the number of packets that a sending thread
//! sends in one turn. [`processor`] builds a chip from a benchmark's [`Contents`], a mapping and a
//! description; [`Traffic`] generates packets from a seed.

mod automaton;
mod contents;
mod feed;
mod mapping;
mod measure;
mod memory;
pub(crate) mod routes;
mod traffic;

use std::path::{Path, PathBuf};

use wireloom_isa::microengine::Image;
use wireloom_sim::EnergySink;

use crate::engine::Program;
use crate::options::Options;
use crate::processor::Processor;
use crate::spec::Spec;

pub use contents::{Binding, Contents, NextHop, Pattern, PortAddress, Route, RouteKind};
pub use feed::Feed;
pub use mapping::{Mapping, Role, Turn};
pub use measure::{Measured, measure};
pub use traffic::{Generated, Traffic};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Benchmark {
    /// IPv4 forwarding: header validation, and two trie lookups in SRAM.
    Ipfwdr,
    /// Pattern search in TCP payloads. Packet and automaton are in SDRAM.
    Url,
    /// Translation of addresses and ports (NAT), with the hash unit and chains in SRAM.
    Nat,
    /// Appends the MD4 digest of the packet: computation, with reads of the packet from SDRAM.
    Md4,
}

impl Benchmark {
    /// All benchmarks, in the order of the NePSim talk.
    pub const ALL: [Self; 4] = [Self::Ipfwdr, Self::Url, Self::Nat, Self::Md4];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ipfwdr => "ipfwdr",
            Self::Url => "url",
            Self::Nat => "nat",
            Self::Md4 => "md4",
        }
    }

    /// The text of its program.
    fn text(self) -> &'static str {
        match self {
            Self::Ipfwdr => include_str!("../../../../programs/microcode/benchmarks/ipfwdr.uc"),
            Self::Url => include_str!("../../../../programs/microcode/benchmarks/url.uc"),
            Self::Nat => include_str!("../../../../programs/microcode/benchmarks/nat.uc"),
            Self::Md4 => include_str!("../../../../programs/microcode/benchmarks/md4.uc"),
        }
    }
}

/// The files that the programs include.
const INCLUDES: &[(&str, &str)] = &[
    ("followers.inc", include_str!("../../../../programs/microcode/include/followers.inc")),
    ("ipv4.inc", include_str!("../../../../programs/microcode/include/ipv4.inc")),
    ("ipv4_forward.inc", include_str!("../../../../programs/microcode/include/ipv4_forward.inc")),
    ("ipv4_lengths.inc", include_str!("../../../../programs/microcode/include/ipv4_lengths.inc")),
    ("md4_rounds.inc", include_str!("../../../../programs/microcode/include/md4_rounds.inc")),
    ("post.inc", include_str!("../../../../programs/microcode/include/post.inc")),
    ("receive.inc", include_str!("../../../../programs/microcode/include/receive.inc")),
    ("threads.inc", include_str!("../../../../programs/microcode/include/threads.inc")),
    ("transmit.inc", include_str!("../../../../programs/microcode/include/transmit.inc")),
    ("verdicts.inc", include_str!("../../../../programs/microcode/include/verdicts.inc")),
];

/// Returns a file that the programs of `programs/microcode` include.
///
/// # Errors
/// If the file does not exist.
pub(crate) fn included(path: &Path) -> Result<String, String> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let found = INCLUDES.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
}

/// Why a benchmark cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{benchmark}: {message}", benchmark = .benchmark.name())]
pub struct SetupError {
    pub benchmark: Benchmark,
    /// The reason, as a sentence.
    pub message: String,
}

impl Benchmark {
    /// Assembles the program for engines of a role. Memory addresses stay unresolved imports.
    ///
    /// # Errors
    /// If the program does not fit into a control store of this size, or if the role neither
    /// receives nor sends.
    pub fn assemble(self, role: Role, turn: Turn, control_store: u32) -> Result<Image, SetupError> {
        let error = |message: String| SetupError { benchmark: self, message };
        let definitions = role.definitions();
        if definitions.is_empty() {
            return Err(error("an engine without a role has no program".to_owned()));
        }
        let roles = definitions.iter().map(|name| ((*name).into(), "1".into()));
        let turn = ("TURN".to_owned(), turn.packets().to_string());
        let options = wireloom_microcode::Options {
            definitions: roles.chain([turn]).collect(),
            control_store: Some(control_store as usize),
            optimise: true,
            ..Default::default()
        };
        let path = PathBuf::from(format!("programs/microcode/benchmarks/{}.uc", self.name()));
        let mut read = |path: &Path| included(path);
        wireloom_microcode::assemble(&path.to_string_lossy(), self.text(), &options, &mut read)
            .map_err(|refused| error(refused.render(false)))
    }
}

/// Builds a chip that runs a benchmark, with programs in its engines and tables in its memories.
///
/// # Errors
/// If the mapping does not fit the chip, if the contents do not fit into its memories, or if a
/// number of the description is out of range.
pub fn processor<E: EnergySink>(
    contents: &Contents,
    mapping: &Mapping,
    spec: &Spec,
    options: &Options,
    energy: E,
) -> Result<Processor<E>, SetupError> {
    let benchmark = contents.benchmark();
    let error = |message: String| SetupError { benchmark, message };
    spec.check().map_err(|refused| error(refused.to_string()))?;
    let threads = mapping.threads(spec).map_err(error)?;
    let mut loaded: Vec<(Role, Program)> = Vec::new();
    let mut programs = Vec::new();
    for (engine, role) in mapping.roles().iter().enumerate() {
        let known = loaded.iter().find(|(other, _)| other == role).map(|(_, known)| known.clone());
        let program = match (known, role) {
            (_, Role::Idle) => Program::default(),
            (Some(known), _) => known,
            (None, _) => {
                let mut image =
                    benchmark.assemble(*role, mapping.turn(), spec.engine.control_store)?;
                wireloom_microcode::supply(&mut image, &memory::imports(contents))
                    .map_err(|name| error(format!("the program imports {name}")))?;
                let program = Program::load(image, spec.engine.control_store);
                let program = program.map_err(|refused| error(refused.0))?;
                loaded.push((*role, program.clone()));
                program
            }
        };
        programs.push((program, threads.contexts(engine)));
    }
    let processor = Processor::with_energy(spec, programs, options, energy);
    let mut processor = processor.map_err(|refused| error(refused.to_string()))?;
    memory::fill(&mut processor.chip, &threads, contents).map_err(error)?;
    Ok(processor)
}
