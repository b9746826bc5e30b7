//! The mapping of a benchmark: which engines receive and which send, the turns of sending threads,
//! and the ports of receiving threads.

use crate::mpkt::Wanted;
use crate::spec::Spec;

/// The role of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The engine has no program.
    Idle,
    /// All contexts receive and process.
    Receive,
    /// All contexts send.
    Transmit,
    /// Contexts 0 and 1 receive and process, contexts 2 and 3 send.
    Both,
}

impl Role {
    /// The names that are defined when the role's program is assembled.
    pub(super) fn definitions(self) -> &'static [&'static str] {
        match self {
            Self::Idle => &[],
            Self::Receive => &["RECEIVE"],
            Self::Transmit => &["TRANSMIT"],
            Self::Both => &["RECEIVE", "TRANSMIT"],
        }
    }

    fn receives(self, context: u32) -> bool {
        matches!((self, context), (Self::Receive, _) | (Self::Both, 0 | 1))
    }

    fn sends(self, context: u32) -> bool {
        matches!((self, context), (Self::Transmit, _) | (Self::Both, 2 | 3))
    }
}

/// The most packets for which a sending thread takes elements of the transmit FIFO in one turn.
/// Each thread owns as many consecutive places of the ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Turn {
    /// One packet, of any length.
    #[default]
    One = 1,
    /// A packet, and the next one if that is ready and has at most 64 bytes.
    Two = 2,
    /// A packet, and up to three further ready ones of at most 64 bytes.
    Four = 4,
}

impl Turn {
    /// All turns.
    pub const ALL: [Self; 3] = [Self::One, Self::Two, Self::Four];

    pub fn packets(self) -> u32 {
        self as u32
    }
}

/// The roles of engines, from engine 0, and the turns of sending engines.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mapping {
    roles: Vec<Role>,
    turn: Turn,
}

impl Mapping {
    /// Creates a mapping of these roles. A turn sends one packet.
    pub fn new(roles: Vec<Role>) -> Self {
        Self { roles, turn: Turn::One }
    }

    /// Returns the same mapping with other turns.
    pub fn with_turn(self, turn: Turn) -> Self {
        Self { turn, ..self }
    }

    /// Creates a mapping in which the first engines receive and the next ones send.
    pub fn split(receiving: usize, sending: usize) -> Self {
        let mut roles = vec![Role::Receive; receiving];
        roles.resize(receiving + sending, Role::Transmit);
        Self::new(roles)
    }

    /// Creates the usual mapping of published programs for this number of engines: two thirds
    /// receive, rounded to the nearest, so six engines become four and two. A single engine does
    /// both.
    pub fn usual(engines: usize) -> Self {
        match engines {
            0 | 1 => Self::new(vec![Role::Both; engines]),
            _ => {
                let receiving = ((2 * engines + 1) / 3).min(engines - 1);
                Self::split(receiving, engines - receiving)
            }
        }
    }

    pub fn roles(&self) -> &[Role] {
        &self.roles
    }

    pub fn turn(&self) -> Turn {
        self.turn
    }

    /// The mapping's name, such as `4+2`, or `1` for one engine that does both.
    pub fn name(&self) -> String {
        let count = |role| self.roles.iter().filter(|other| **other == role).count();
        match (count(Role::Both), count(Role::Receive), count(Role::Transmit)) {
            (0, receive, transmit) => format!("{receive}+{transmit}"),
            (both, 0, 0) => both.to_string(),
            (both, receive, transmit) => format!("{both}+{receive}+{transmit}"),
        }
    }

    /// Assigns the threads of a chip. Receiving threads serve the ports in rotation. Each needs its
    /// own element of the receive FIFO, so engines run fewer contexts if there are fewer elements
    /// than threads.
    ///
    /// # Errors
    /// If the chip has too few engines or contexts, if the mapping has no receiving or no sending
    /// thread, or if it has fewer receiving threads than ports.
    pub(super) fn threads(&self, spec: &Spec) -> Result<Threads, String> {
        let contexts = spec.engine.contexts;
        if self.roles.len() > spec.engines as usize {
            return Err(format!(
                "the mapping {} has {} engines, and {} has {}",
                self.name(),
                self.roles.len(),
                spec.name,
                spec.engines
            ));
        }
        if self.roles.contains(&Role::Both) && contexts < 4 {
            return Err(format!(
                "an engine that receives and sends takes 4 contexts, not {contexts}"
            ));
        }
        let elements = spec.fbi.receive_elements;
        let mut receiving = Vec::new();
        let mut sending = Vec::new();
        // Context by context, so that engines get even shares of the elements.
        for context in 0..contexts {
            for (engine, role) in self.roles.iter().enumerate() {
                let thread = Thread { engine, context };
                if role.receives(context) && (receiving.len() as u32) < elements {
                    receiving.push(thread);
                }
            }
        }
        for (engine, role) in self.roles.iter().enumerate() {
            let all = (0..contexts).map(|context| Thread { engine, context });
            sending.extend(all.filter(|thread| role.sends(thread.context)));
        }
        if receiving.is_empty() || sending.is_empty() {
            return Err(format!(
                "the mapping {} has {} threads that receive and {} that send; it needs both",
                self.name(),
                receiving.len(),
                sending.len()
            ));
        }
        if (receiving.len() as u32) < spec.ports.count {
            return Err(format!(
                "the mapping {} has {} receiving threads, and {} has {} ports: give it fewer ports",
                self.name(),
                receiving.len(),
                spec.name,
                spec.ports.count
            ));
        }
        Ok(Threads { receiving, sending, turn: self.turn, ports: spec.ports.count })
    }
}

/// A context of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Thread {
    engine: usize,
    context: u32,
}

impl Thread {
    /// The thread's number on the chip.
    pub fn number(self) -> u32 {
        self.engine as u32 * 4 + self.context
    }
}

/// The active threads.
#[derive(Clone, Debug)]
pub(super) struct Threads {
    receiving: Vec<Thread>,
    sending: Vec<Thread>,
    turn: Turn,
    ports: u32,
}

impl Threads {
    /// The active contexts of an engine, as a bit mask.
    pub fn contexts(&self, engine: usize) -> u8 {
        let all = self.receiving.iter().chain(&self.sending);
        all.filter(|thread| thread.engine == engine).map(|thread| 1 << thread.context).sum()
    }

    /// The receiving threads, each with its request for MPKTs.
    pub fn requests(&self) -> impl Iterator<Item = (Thread, Wanted)> {
        let ports = self.ports;
        self.receiving.iter().enumerate().map(move |(place, thread)| {
            let wanted = Wanted {
                port: (place as u32 % ports) as u8,
                element: place as u8,
                thread: thread.number() as u8,
            };
            (*thread, wanted)
        })
    }

    /// The sending threads, each with its four words in memory: its first place in the ring, the
    /// places of all threads in a round, the next thread, and the first thread.
    pub fn senders(&self) -> impl Iterator<Item = (Thread, [u32; 4])> {
        let packets = self.turn.packets();
        let threads = self.sending.len();
        self.sending.iter().enumerate().map(move |(at, thread)| {
            let next = self.sending[(at + 1) % threads].number();
            let round = packets * threads as u32;
            (*thread, [packets * at as u32, round, next, self.sending[0].number()])
        })
    }

    /// The thread that sends the packet at a place of the ring.
    pub fn sender(&self, place: u32) -> Thread {
        self.sending[(place / self.turn.packets()) as usize % self.sending.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_engines_are_four_that_receive_and_two_that_send() {
        let names: Vec<String> = (1..=6).map(|engines| Mapping::usual(engines).name()).collect();
        assert_eq!(names, ["1", "1+1", "2+1", "3+1", "3+2", "4+2"]);
    }

    #[test]
    fn more_receiving_threads_than_elements_are_shared_among_engines() {
        let spec = Spec { engines: 12, ..Spec::base() };
        let threads = Mapping::split(8, 4).threads(&spec).expect("it fits");
        assert_eq!(threads.receiving.len(), 16);
        assert!((0..8).all(|engine| threads.contexts(engine) == 0b0011));
        assert!((8..12).all(|engine| threads.contexts(engine) == 0b1111));
    }

    #[test]
    fn consecutive_places_belong_to_a_thread_for_a_turn() {
        let threads = |turn| {
            let mapping = Mapping::split(4, 1).with_turn(turn);
            mapping.threads(&Spec::base()).expect("it fits")
        };
        let places = |turn| -> Vec<u32> {
            let threads = threads(turn);
            (0..10).map(|place| threads.sender(place).number() - 16).collect()
        };
        assert_eq!(places(Turn::One), [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]);
        assert_eq!(places(Turn::Two), [0, 0, 1, 1, 2, 2, 3, 3, 0, 0]);
        assert_eq!(places(Turn::Four), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]);
        let words: Vec<[u32; 4]> = threads(Turn::Two).senders().map(|(_, words)| words).collect();
        assert_eq!(words, [[0, 8, 17, 16], [2, 8, 18, 16], [4, 8, 19, 16], [6, 8, 16, 16]]);
    }

    #[test]
    fn mappings_that_cannot_work_are_refused_with_the_reason() {
        let spec = Spec::base();
        let refused = |mapping: Mapping| mapping.threads(&spec).expect_err("it cannot work");
        assert!(refused(Mapping::split(6, 1)).contains("has 7 engines, and ixp1200 has 6"));
        assert!(refused(Mapping::split(3, 0)).contains("it needs both"));
        assert!(refused(Mapping::split(1, 1)).contains("4 receiving threads, and ixp1200 has 8"));
        let spec = Spec { engine: crate::spec::EngineSpec { contexts: 2, ..spec.engine }, ..spec };
        let message = Mapping::usual(1).threads(&spec).expect_err("two contexts");
        assert!(message.contains("takes 4 contexts, not 2"));
    }
}
