//! The state of a thread while it works on a packet: registers with fixed places, and what the
//! compiler knows about the header window at a point of the program.

use super::operand::Register;

/// The register with the number of the thread.
pub const THREAD: Register = Register::pinned(0);

/// The registers that hold a thread's state from the first step to the last.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Word address of the frame.
    pub frame: Register,
    /// The byte of the area at which the window begins.
    pub front: Register,
    /// Bytes of the window.
    pub window: Register,
    /// Bytes of the payload.
    pub payload: Register,
    /// The egress port.
    pub egress: Register,
    /// The control word without lengths and flags, for a thread that ends.
    pub control: Register,
    /// Word address of the thread's words of the scratchpad (version 1).
    pub near: Register,
    /// The byte at which the window begins, if it is the same for all packets at this point.
    pub known: Option<u32>,
    /// The memory that holds the window at this point.
    pub home: Home,
}

/// The names of the registers with fixed places, and whether they are in bank A.
pub const PINNED: [(&str, bool); 8] = [
    ("thread", true),
    ("frame", true),
    ("window", true),
    ("front", false),
    ("payload", false),
    ("egress", false),
    ("control", false),
    ("near", true),
];

impl State {
    /// Returns the state in a program with the [pinned](PINNED) registers.
    pub const fn new() -> Self {
        Self {
            frame: Register::pinned(1),
            window: Register::pinned(2),
            front: Register::pinned(3),
            payload: Register::pinned(4),
            egress: Register::pinned(5),
            control: Register::pinned(6),
            near: Register::pinned(7),
            known: None,
            home: Home::Frame,
        }
    }
}

/// The memory that holds the window of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    Local,
    Frame,
    /// One of both, depending on the packet.
    Either,
}

impl Home {
    /// Returns the memory after two paths meet.
    pub fn or(self, other: Self) -> Self {
        if self == other { self } else { Self::Either }
    }
}
