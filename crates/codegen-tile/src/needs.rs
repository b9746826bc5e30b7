//! The words about a packet that accompany it.

use wireloom_codegen::context;
use wireloom_ir::{Engine, OffloadTarget, Program};

use super::frame;

/// The words about a packet that a program needs besides port and length. They follow the first
/// word. Values of 64 bits have their upper word first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The arrival time in nanoseconds.
    pub arrival: bool,
    /// The sequence number.
    pub sequence: bool,
    /// Whether packets are replaced by kept ones, which bring their own ports and time.
    pub takes: bool,
    /// Whether the tails of long packets stay outside the tiles. The word that identifies the tail
    /// then arrives and leaves with each packet.
    pub rest: bool,
}

impl Needs {
    /// Returns the words about packets that an engine and the engines that it calls need.
    pub fn of(program: &Program, engine: &Engine) -> Self {
        let mut needs = Self {
            arrival: context::uses_arrival(engine),
            sequence: uses_sequence(engine),
            ..Self::default()
        };
        for offload in &engine.offloads {
            if let OffloadTarget::Engine(id) = &offload.target {
                let inner = Self::of(program, &program.engines[id.index()]);
                needs.arrival |= inner.arrival;
                needs.sequence |= inner.sequence;
            }
        }
        needs
    }

    /// The word of the frame that leaves next to the side word.
    pub(super) fn beside(self) -> Option<u32> {
        self.rest.then_some(frame::REST)
    }

    /// Whether a word leaves next to the side word.
    pub fn has_beside(self) -> bool {
        self.beside().is_some()
    }
}

fn uses_sequence(engine: &Engine) -> bool {
    let mut methods =
        engine.offloads.iter().filter_map(|offload| offload.kind()).flat_map(|kind| kind.methods);
    methods.any(|method| method.reads_sequence)
}
