//! Cycle accounts of tile and switch processors: what they did, and what they waited for.

use wireloom_isa::raw::tile::{Instruction, Op, branches};
use wireloom_isa::raw::{Network, Register};

use crate::layout::Layout;
use crate::switch::Block;

/// Cycles of a tile processor by cause. They add up to the cycles until it halted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TileCycles {
    /// An instruction was executed.
    pub executed: u64,
    /// An operand was not ready: an earlier load, multiplication or division had not finished.
    pub operands: u64,
    /// A branch was mispredicted. Jumps to registers and entries of interrupts count too.
    pub branches: u64,
    /// The cache waited for a line, or wrote one back.
    pub misses: u64,
    /// A network had no word, by the network's number.
    pub empty: [u64; 4],
    /// A network had no room, by the network's number.
    pub full: [u64; 4],
}

impl TileCycles {
    /// Returns the cycles in which a network had no word.
    pub fn empty_of(&self, network: Network) -> u64 {
        self.empty[network as usize]
    }

    /// Returns the cycles in which a network had no room.
    pub fn full_of(&self, network: Network) -> u64 {
        self.full[network as usize]
    }

    /// Returns the sum of all cycles.
    pub fn total(&self) -> u64 {
        let networks: u64 = self.empty.iter().chain(&self.full).sum();
        self.executed + self.operands + self.branches + self.misses + networks
    }

    pub(crate) fn blocked(&mut self, block: Block, cycles: u64) {
        let (Block::Empty(queue) | Block::Full(queue)) = block;
        let (network, _) = Layout::of_queue(queue);
        match block {
            Block::Empty(_) => self.empty[network] += cycles,
            Block::Full(_) => self.full[network] += cycles,
        }
    }
}

/// Instructions that a tile processor has executed, by kind. They add up to
/// [`TileCycles::executed`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Instructions that take a word from a network, whatever their destination.
    pub taken: u64,
    /// Instructions that write a word to a network, whatever its source.
    pub given: u64,
    /// Branches, taken or not.
    pub branches: u64,
    /// All other instructions: computation and memory accesses.
    pub others: u64,
}

impl Work {
    /// Counts an instruction that was executed `times` times.
    pub fn add(&mut self, instruction: &Instruction, times: u64) {
        let network = |register: &Register| register.network().is_some();
        let takes = instruction.read().iter().flatten().any(network);
        let gives = instruction.written().as_ref().is_some_and(network);
        let is_jump = matches!(instruction.op, Op::J | Op::Jal | Op::Jr | Op::Jalr | Op::Eret);
        let kind = if takes {
            &mut self.taken
        } else if gives {
            &mut self.given
        } else if is_jump || branches(instruction.op, 0, 0).is_some() {
            &mut self.branches
        } else {
            &mut self.others
        };
        *kind += times;
    }
}

/// Cycles of a switch processor by cause. They add up to the cycles until it halted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchCycles {
    /// An instruction was executed.
    pub executed: u64,
    /// A branch was mispredicted.
    pub branches: u64,
    /// A word from the switch's tile was missing: a word to route, or a count.
    pub empty_tile: u64,
    /// A word from a neighbour or a device was missing.
    pub empty: u64,
    /// The switch's tile had no room.
    pub full_tile: u64,
    /// A neighbour or a device had no room.
    pub full: u64,
}

impl SwitchCycles {
    /// Returns the sum of all cycles.
    pub fn total(&self) -> u64 {
        let waited = self.empty_tile + self.empty + self.full_tile + self.full;
        self.executed + self.branches + waited
    }

    pub(crate) fn blocked(&mut self, block: Block, tile: usize, cycles: u64) {
        let is_of_tile = |queue| Layout::is_of_tile(queue, tile) && Layout::of_queue(queue).1;
        match block {
            Block::Empty(queue) if is_of_tile(queue) => self.empty_tile += cycles,
            Block::Empty(_) => self.empty += cycles,
            Block::Full(queue) if is_of_tile(queue) => self.full_tile += cycles,
            Block::Full(_) => self.full += cycles,
        }
    }
}
