//! How instructions reach memory.
//!
//! A bus may be a split-transaction one: a request goes out, other threads run, the reply comes back. For the instruction
//! that means: an access is answered at once, or with [`Stall::Wait`]. Then the instruction ends without effect on its
//! thread, and the machine executes it again when the reply is there.
//!
//! The contract, which [`Replies`] helps to keep:
//! - An instruction makes its accesses in the order of their numbers, from 0, and stops at the first that is not answered.
//! - Executed again, it makes the same accesses anew, from number 0 on, with the same addresses and values: nothing of its
//!   thread has changed. The bus answers those that it has answered before as it did then; above all, what has been stored
//!   is not stored again.
//! - [`Bus::done`] ends the accesses of an instruction: answered, or ended by a fault. It is not called when one waits.

/// What an instruction reaches memory and devices through. A machine makes it for the thread that executes.
pub trait Bus {
    /// Reads, little-endian; bits above the size are ignored.
    ///
    /// # Errors
    /// See [`Stall`].
    fn load(&mut self, access: Access) -> Result<u32, Stall>;

    /// Writes the low bits of `value`, as many as the size says.
    ///
    /// # Errors
    /// See [`Stall`].
    fn store(&mut self, access: Access, value: u32) -> Result<(), Stall>;

    /// Reads and then writes, with no other access between (ARM's SWP and SWPB).
    ///
    /// # Errors
    /// See [`Stall`].
    fn swap(&mut self, access: Access, value: u32) -> Result<u32, Stall>;

    /// The instruction needs no more answers: the next access with number 0 is that of another instruction.
    fn done(&mut self) {}
}

/// One access of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// In bytes; a multiple of the size.
    pub address: u32,
    pub size: Size,
    /// The how-manieth of its instruction, from 0.
    pub number: u8,
    /// How many accesses the instruction makes in all, 1 to 16: those behind the first are words at ascending addresses
    /// without gaps, so a bus can make one burst of them.
    pub count: u8,
}

impl Access {
    /// The only access of an instruction.
    pub fn single(address: u32, size: Size) -> Self {
        Self { address, size, number: 0, count: 1 }
    }
}

/// How much an access moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Size {
    Byte = 1,
    Half = 2,
    Word = 4,
}

impl Size {
    /// In bytes.
    pub fn bytes(self) -> u32 {
        self as u32
    }

    /// Whether an access of this size may begin at that address.
    pub fn is_aligned(self, address: u32) -> bool {
        address & (self as u32 - 1) == 0
    }
}

/// Why an access has not been answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// Its transaction is under way: execute the instruction again when the reply is there.
    Wait,
    /// It cannot be done.
    Fault(Fault),
}

/// What is wrong with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Nothing answers to the address.
    Nothing,
    /// What answers cannot be written.
    ReadOnly,
    /// What answers cannot be read.
    WriteOnly,
    /// What answers does not do accesses of that size, or no swap.
    Unsupported,
    /// A device has refused it.
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

/// The replies to the accesses of the instruction that a thread has under way: one for each thread of a machine whose bus
/// splits transactions.
///
/// The bus passes every access through [`Replies::answer`], calls [`Replies::arrive`] when a reply comes back, before the
/// machine lets the thread run, and [`Replies::clear`] in its [`Bus::done`].
#[derive(Clone, Debug, Default)]
pub struct Replies {
    values: [u32; 16],
    have: u8,
    is_waiting: bool,
}

impl Replies {
    /// Answers an access from what is here already; one that is new is begun, which answers as a bus does. A store's
    /// answer has some value.
    ///
    /// # Errors
    /// [`Stall::Wait`] if a reply is still to come, and what `begin` answers.
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

    /// The reply to the access that waits is here; of a burst that its first access began, all the values.
    ///
    /// # Panics
    /// If that makes more than 16 replies.
    pub fn arrive(&mut self, values: &[u32]) {
        for value in values {
            self.keep(*value);
        }
        self.is_waiting = false;
    }

    /// Whether a reply is still to come.
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Forgets what is here: the instruction is over.
    pub fn clear(&mut self) {
        self.have = 0;
        self.is_waiting = false;
    }

    fn keep(&mut self, value: u32) {
        self.values[usize::from(self.have)] = value;
        self.have += 1;
    }
}
