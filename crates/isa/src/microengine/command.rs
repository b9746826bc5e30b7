//! Commands that microengines send to the units of the chip.

use super::operand::{Signal, Source, TransferFile};

/// A unit that takes commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    Sram,
    /// SDRAM, or RDRAM (`dram`) on version 2.
    Sdram,
    Scratch,
    Hash,
    /// CSRs and FIFOs of the FBI (version 1).
    Fbi,
    /// Media switch fabric (version 2).
    Msf,
    /// The chip's CSRs (`cap`, version 2).
    Cap,
    Pci,
}

/// A bit operation on a word of memory, by the mask in the write transfer register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitOperation {
    Set,
    Clear,
    /// As `Set`. The old word comes back into the read transfer register.
    TestAndSet,
    /// As `Clear`. The old word comes back into the read transfer register.
    TestAndClear,
}

/// An operation on a queue (version 2). An entry of the Q_array of an SRAM channel holds the
/// queue's descriptor. The address has the channel in bits 31 and 30, the entry in bits 29 to 24,
/// and an address in words in the other bits (assumed).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueueOperation {
    /// Reads words of a descriptor, and puts its head and count into the entry.
    ReadHead,
    /// Reads words of a descriptor, and puts its tail and count into the entry.
    ReadTail,
    /// Reads the pointer of a descriptor that the previous command did not put into the entry.
    ReadOther,
    /// Writes the entry into a descriptor.
    Write,
    /// Writes the count of the entry into a descriptor.
    WriteCount,
    /// Puts a buffer at the end of the queue. The previous last buffer gets a link to it.
    Enqueue,
    /// Takes the first buffer from the queue: its address, or 0.
    Dequeue,
}

/// The operation of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Transfers memory to read transfer registers.
    Read,
    /// Transfers write transfer registers to memory.
    Write,
    /// SRAM: locks the address in the CAM of locks, waiting if necessary, and reads.
    ReadLock,
    /// SRAM: writes and unlocks.
    WriteUnlock,
    /// SRAM: unlocks.
    Unlock,
    Bits(BitOperation),
    /// SRAM: puts the address on a list (version 1), or words on a ring (version 2).
    Push,
    /// SRAM: takes an address from a list; 0 if it is empty.
    Pop,
    /// Scratchpad: adds 1 to a word.
    Increment,
    /// Scratchpad and SRAM of version 2: adds the word in the write transfer register.
    Add,
    /// As `Add`. The old word comes back.
    TestAndAdd,
    /// Exchanges the word with the transfer register (version 2).
    Swap,
    /// Takes words from a ring; all are 0 if it holds fewer (version 2).
    Get,
    /// Puts words on a ring (version 2).
    Put,
    /// Operates on a queue of buffers in SRAM (version 2).
    Queue(QueueOperation),
    /// Hashes 1 to 3 keys of 48, 64 or 128 bits each. Key `i` and its hash are in the transfer
    /// registers from `2 i` (`4 i` for 128 bits) on, low word first.
    Hash {
        keys: u8,
        bits: u8,
    },
    /// Transfers an element of the receive FIFO to SRAM transfer registers (FBI) or to SDRAM. The
    /// address counts quad words of the FIFO. For SDRAM, operand A is the address in the FIFO,
    /// unless the indirect reference gives it, and operand B is the address in the SDRAM.
    ReceiveFifoRead,
    /// Transfers to an element of the transmit FIFO, with operands as for the receive FIFO.
    TransmitFifoWrite,
    /// Copies a CSR of the unit to a read transfer register.
    CsrRead,
    /// Copies a write transfer register to a CSR of the unit.
    CsrWrite,
    /// `fast_wr[value, csr]`: copies operand A, a constant or a register, to a CSR.
    FastWrite,
    /// `pci_dma`.
    Dma,
}

/// The order in which a unit serves its commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The unit's default order.
    #[default]
    Default,
    /// `optimize_mem`: the unit may reorder, by bank and direction.
    Optimize,
    /// `ordered`: after all earlier ordered commands.
    Ordered,
    /// `priority`: before all other commands.
    Priority,
}

/// The notification when the unit is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Completion {
    /// There is no notification.
    #[default]
    None,
    /// `sig_done`: the signal is set, and the context continues.
    Signal(Signal),
    /// `ctx_swap`: the context gives up the engine until the signal comes.
    Swap(Signal),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Command {
    pub unit: Unit,
    pub operation: Operation,
    /// The first transfer register, relative to the context; `None` (`--`) for operations that
    /// transfer nothing.
    pub transfer: Option<u8>,
    /// The address is the sum of `a` and `b`, in units of the memory: words of 4 bytes for SRAM
    /// and scratchpad, 8 bytes for SDRAM, numbers of CSRs, rings and lists. Version 2 counts
    /// bytes everywhere.
    pub a: Source,
    pub b: Source,
    /// Granules to transfer: words, or 8 bytes for SDRAM. For `Push` and `Pop` of version 1, the
    /// number of the list (0 to 7).
    pub count: u8,
    /// `indirect_ref`: the result of the previous instruction overrides parts of the command, see
    /// [`Override`].
    pub indirect: bool,
    pub order: Order,
    pub completion: Completion,
    /// The number of later instructions that execute before the context is swapped out.
    pub defer: u8,
}

impl Command {
    /// Returns the file of transfer registers that the unit uses.
    pub fn file(&self) -> TransferFile {
        match self.unit {
            Unit::Sdram => TransferFile::Sdram,
            _ => TransferFile::Sram,
        }
    }

    /// Returns the words that the unit pulls from write transfer registers.
    pub fn words_out(&self, count: u8) -> u8 {
        let granule = if self.unit == Unit::Sdram { 2 } else { 1 };
        match self.operation {
            Operation::Write | Operation::WriteUnlock | Operation::Put => {
                count.saturating_mul(granule)
            }
            Operation::Push if self.transfer.is_some() => count,
            Operation::Bits(_)
            | Operation::Add
            | Operation::TestAndAdd
            | Operation::Swap
            | Operation::CsrWrite => 1,
            Operation::Hash { keys, bits } => keys * bits.div_ceil(32),
            Operation::TransmitFifoWrite if self.unit != Unit::Sdram => count.saturating_mul(2),
            _ => 0,
        }
    }

    /// Returns the words that the unit pushes into read transfer registers.
    pub fn words_in(&self, count: u8) -> u8 {
        let granule = if self.unit == Unit::Sdram { 2 } else { 1 };
        match self.operation {
            Operation::Read | Operation::ReadLock | Operation::Get => count.saturating_mul(granule),
            Operation::Bits(BitOperation::TestAndSet | BitOperation::TestAndClear)
            | Operation::TestAndAdd
            | Operation::Swap
            | Operation::Pop
            | Operation::Queue(QueueOperation::Dequeue)
            | Operation::CsrRead => 1,
            Operation::Queue(QueueOperation::ReadHead | QueueOperation::ReadTail) => count,
            Operation::Hash { keys, bits } => keys * bits.div_ceil(32),
            Operation::ReceiveFifoRead if self.unit != Unit::Sdram => count.saturating_mul(2),
            _ => 0,
        }
    }
}

/// The overrides in the word before a command with `indirect_ref`. The layout is assumed:
///
/// | bits | meaning |
/// |---|---|
/// | 31 | the count is overridden |
/// | 30 to 26 | the count less 1 |
/// | 25 | the transfer register is overridden |
/// | 24 to 16 | the first transfer register, as an absolute number |
/// | 15 | the context is overridden |
/// | 14 to 12 | the context that gets the signal, and whose transfer registers are meant |
/// | 11 | the element of a FIFO is given |
/// | 10 to 4 | FIFO address in quad words: element * 8 + quad word |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Override {
    pub count: Option<u8>,
    pub transfer: Option<u16>,
    pub context: Option<u8>,
    pub fifo: Option<u8>,
}

impl Override {
    /// Reads the word.
    pub fn from_word(word: u32) -> Self {
        let field = |valid: u32, low: u32, width: u32| {
            (word >> valid & 1 != 0).then_some(word >> low & ((1 << width) - 1))
        };
        Self {
            count: field(31, 26, 5).map(|count| count as u8 + 1),
            transfer: field(25, 16, 9).map(|register| register as u16),
            context: field(15, 12, 3).map(|context| context as u8),
            fifo: field(11, 4, 7).map(|address| address as u8),
        }
    }

    /// Encodes the overrides. Numbers that are too large for their fields are truncated.
    pub fn word(&self) -> u32 {
        let field = |value: Option<u32>, valid: u32, low: u32, width: u32| match value {
            Some(value) => 1 << valid | (value & ((1 << width) - 1)) << low,
            None => 0,
        };
        field(self.count.map(|count| u32::from(count).wrapping_sub(1)), 31, 26, 5)
            | field(self.transfer.map(u32::from), 25, 16, 9)
            | field(self.context.map(u32::from), 15, 12, 3)
            | field(self.fifo.map(u32::from), 11, 4, 7)
    }
}
