//! The interface from instructions to memory and ports.
//!
//! A bus may split transactions: a request goes out, other threads run, the reply comes back. An
//! access therefore either completes at once or stalls with [`Stall::Wait`]. In the latter case the
//! instruction ends without effect on its thread, and the machine executes it again when the reply
//! has arrived.
//!
//! The contract, which [`Replies`] helps to keep:
//! - An instruction makes its accesses in the order of their numbers, from 0, and stops at the
//!   first that is not done.
//! - When it is executed again, it repeats the accesses from number 0 on, with the same addresses
//!   and values: its thread has not changed. The bus repeats the replies to accesses that are done;
//!   in particular, it does not repeat a store.
//! - [`Bus::done`] ends the accesses of an instruction when all are done, or one has faulted. It is
//!   not called when an access waits.
//!
//! Operands can be ports, such as registers that are ends of a network: see [`Bus::receive`]. They
//! follow another rule, since a word that was taken cannot be put back: receiving and sending
//! change nothing until [`Bus::retire`], which is called when the instruction has had its effect.
//! [`Operands`](crate::Operands) helps to keep it.

use crate::operands::Operand;

/// The memory and devices of an instruction. A machine creates it for the executing thread.
pub trait Bus {
    /// Reads little-endian. Bits above the size are ignored.
    ///
    /// # Errors
    /// See [`Stall`].
    fn load(&mut self, access: Access) -> Result<u32, Stall>;

    /// Writes the low bits of `value`, as many as the size of the access.
    ///
    /// # Errors
    /// See [`Stall`].
    fn store(&mut self, access: Access, value: u32) -> Result<(), Stall>;

    /// Reads and then writes, with no other access between (ARM's SWP and SWPB).
    ///
    /// # Errors
    /// See [`Stall`].
    fn swap(&mut self, access: Access, value: u32) -> Result<u32, Stall>;

    /// Ends the accesses of an instruction. The next access with number 0 belongs to another one.
    fn done(&mut self) {}

    /// Peeks at an operand that is a port: the next word, or the word [`Operand::number`] places
    /// after it.
    ///
    /// # Errors
    /// [`Stall::Wait`] if the word is not there yet, [`Stall::Fault`] if there is no such port.
    fn receive(&mut self, _operand: Operand) -> Result<u32, Stall> {
        Err(Stall::Fault(Fault::Nothing))
    }

    /// Writes an operand that is a port. The word leaves when the instruction retires.
    ///
    /// # Errors
    /// [`Stall::Wait`] if there is no room for the word yet, [`Stall::Fault`] if there is no such
    /// port.
    fn send(&mut self, _operand: Operand, _value: u32) -> Result<(), Stall> {
        Err(Stall::Fault(Fault::Nothing))
    }

    /// Called when the instruction has had its effect: takes the words that it received, and lets
    /// the words that it sent leave. Only instructions with ports among their operands call this.
    fn retire(&mut self) {}
}

/// A memory space of a processor. Each space has its own addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Space(pub u8);

impl Space {
    /// The space of loads and stores, in a set with only one such space.
    pub const DATA: Self = Self(0);
    /// The space of instructions: a control store.
    pub const INSTRUCTIONS: Self = Self(1);
}

/// One access of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The address in bytes; a multiple of the size.
    pub address: u32,
    pub size: Size,
    /// The number of the access within its instruction, from 0.
    pub number: u8,
    /// The total number of accesses of the instruction, 1 to 16. Accesses after the first are words
    /// at ascending addresses without gaps, so a bus can combine them into one burst.
    pub count: u8,
    /// The memory that the address belongs to.
    pub space: Space,
}

impl Access {
    /// Returns the only access of an instruction, to data.
    pub fn single(address: u32, size: Size) -> Self {
        Self { address, size, number: 0, count: 1, space: Space::DATA }
    }
}

/// The size of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Size {
    Byte = 1,
    Half = 2,
    Word = 4,
}

impl Size {
    /// The size in bytes.
    pub fn bytes(self) -> u32 {
        self as u32
    }

    /// Whether an access of this size may begin at that address.
    pub fn is_aligned(self, address: u32) -> bool {
        address & (self as u32 - 1) == 0
    }
}

/// Why an access is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// The transaction is in flight. Execute the instruction again when the reply has arrived.
    Wait,
    /// The access is impossible.
    Fault(Fault),
}

/// The cause of a failed access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Nothing is mapped at the address.
    Nothing,
    /// The device cannot be written.
    ReadOnly,
    /// The device cannot be read.
    WriteOnly,
    /// The device does not support accesses of this size, or swaps.
    Unsupported,
    /// The device has refused the access.
    Refused,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Fault::Nothing => "nothing answers there",
            Fault::ReadOnly => "it is read-only",
            Fault::WriteOnly => "it is write-only",
            Fault::Unsupported => "what answers does no such access",
            Fault::Refused => "the device has refused it",
        })
    }
}

/// The replies to the accesses of a thread's current instruction. A machine whose bus splits
/// transactions has one for each thread.
///
/// The bus passes every access through [`Replies::answer`], calls [`Replies::arrive`] when a reply
/// comes back, before the machine lets the thread run, and [`Replies::clear`] in its [`Bus::done`].
#[derive(Clone, Debug, Default)]
pub struct Replies {
    values: [u32; 16],
    have: u8,
    is_waiting: bool,
}

impl Replies {
    /// Returns the reply to an access if it has arrived. Starts a new access with `begin`, and
    /// returns the result of that. The reply to a store is any value.
    ///
    /// # Errors
    /// [`Stall::Wait`] if a reply has not arrived, and the errors of `begin`.
    ///
    /// # Panics
    /// If an instruction makes more than 16 accesses.
    pub fn answer(
        &mut self,
        access: Access,
        begin: impl FnOnce() -> Result<u32, Stall>,
    ) -> Result<u32, Stall> {
        if access.number < self.have {
            return Ok(self.values[usize::from(access.number)]);
        }
        if self.is_waiting {
            return Err(Stall::Wait);
        }
        match begin() {
            Ok(value) => {
                self.keep(value);
                Ok(value)
            }
            Err(stall) => {
                self.is_waiting = stall == Stall::Wait;
                Err(stall)
            }
        }
    }

    /// Takes the reply to the waiting access. For a burst that the first access began, takes all
    /// values.
    ///
    /// # Panics
    /// If there are more than 16 replies.
    pub fn arrive(&mut self, values: &[u32]) {
        for value in values {
            self.keep(*value);
        }
        self.is_waiting = false;
    }

    /// Whether a reply has not arrived yet.
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Forgets all replies: the instruction is over.
    pub fn clear(&mut self) {
        self.have = 0;
        self.is_waiting = false;
    }

    fn keep(&mut self, value: u32) {
        self.values[usize::from(self.have)] = value;
        self.have += 1;
    }
}
