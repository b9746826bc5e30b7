//! Which engines receive, which send and in which turns, and the ports of their threads.

use crate::mpkt::Wanted;
use crate::spec::Spec;

/// What an engine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// It has no program.
    Idle,
    /// Its contexts receive and process.
    Receive,
    /// Its contexts send.
    Transmit,
    /// Contexts 0 and 1 receive and process, contexts 2 and 3 send.
    Both,
}

impl Role {
    /// The names that are defined for its program.
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

/// The packets for which a sending thread takes elements of the transmit FIFO with one turn, at most:
/// as many consecutive places of the ring belong to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Turn {
    /// One packet, of any length.
    #[default]
    One = 1,
    /// A packet and the next one, if that is ready and has at most 64 bytes.
    Two = 2,
    /// A packet and up to three such ones.
    Four = 4,
}

impl Turn {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::One, Self::Two, Self::Four];

    /// The number of packets.
    pub fn packets(self) -> u32 {
        self as u32
    }
}

/// The roles of engines, from engine 0 on, and the turns of those that send.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mapping {
    roles: Vec<Role>,
    turn: Turn,
}

impl Mapping {
    /// Creates a mapping of these roles with turns for one packet.
    pub fn new(roles: Vec<Role>) -> Self {
        Self { roles, turn: Turn::One }
    }

    /// The same roles with other turns.
    pub fn with_turn(self, turn: Turn) -> Self {
        Self { turn, ..self }
    }

    /// Engines that receive, and after them engines that send.
    pub fn split(receiving: usize, sending: usize) -> Self {
        let mut roles = vec![Role::Receive; receiving];
        roles.resize(receiving + sending, Role::Transmit);
        Self::new(roles)
    }

    /// A number of engines as the field's programs use them: two thirds receive, rounded to the
    /// nearest, so that six are four and two. A single engine does both.
    pub fn usual(engines: usize) -> Self {
        match engines {
            0 | 1 => Self::new(vec![Role::Both; engines]),
            _ => {
                let receiving = ((2 * engines + 1) / 3).min(engines - 1);
                Self::split(receiving, engines - receiving)
            }
        }
    }

    /// The roles.
    pub fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// The turns of sending threads.
    pub fn turn(&self) -> Turn {
        self.turn
    }

    /// Such as `4+2`, `1` for an engine that does both.
    pub fn name(&self) -> String {
        let count = |role| self.roles.iter().filter(|other| **other == role).count();
        match (count(Role::Both), count(Role::Receive), count(Role::Transmit)) {
            (0, receive, transmit) => format!("{receive}+{transmit}"),
            (both, 0, 0) => both.to_string(),
            (both, receive, transmit) => format!("{both}+{receive}+{transmit}"),
        }
    }

    /// The threads of a chip. Ports go round the receiving threads; each of these has an element of
    /// the receive FIFO, so engines run fewer contexts if there are more than elements.
    ///
    /// # Errors
    /// If the chip has too few engines or contexts, or the mapping no thread of either kind, or
    /// fewer receiving threads than ports.
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
        // Context by context, so that engines share elements evenly.
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
    /// Its number on the chip.
    pub fn number(self) -> u32 {
        self.engine as u32 * 4 + self.context
    }
}

/// The threads that run.
#[derive(Clone, Debug)]
pub(super) struct Threads {
    receiving: Vec<Thread>,
    sending: Vec<Thread>,
    turn: Turn,
    ports: u32,
}

impl Threads {
    /// The contexts of an engine that run, a bit for each.
    pub fn contexts(&self, engine: usize) -> u8 {
        let all = self.receiving.iter().chain(&self.sending);
        all.filter(|thread| thread.engine == engine).map(|thread| 1 << thread.context).sum()
    }

    /// The receiving threads with their requests.
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

    /// The sending threads with their four words in memory: first place of the ring; places of all
    /// of them in a round; the next thread, and the first one.
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
