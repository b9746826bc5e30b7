//! Accounts of cycles: what tile and switch processors did, and on what they waited.

use wireloom_isa::raw::tile::{Instruction, Op, branches};
use wireloom_isa::raw::{Network, Register};

use crate::layout::Layout;
use crate::switch::Block;

/// Cycles of a tile processor by what it did. They add up to the cycles until it halted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TileCycles {
    /// It executed an instruction.
    pub executed: u64,
    /// The register that it reads was not ready: a load, a multiplication or a division before.
    pub operands: u64,
    /// It went on elsewhere than predicted: branches, jumps to registers, begins of interrupts.
    pub branches: u64,
    /// Its cache waited for a line, or wrote one back.
    pub misses: u64,
    /// A network had no word for it, by the network's number.
    pub empty: [u64; 4],
    /// A network had no room, likewise.
    pub full: [u64; 4],
}

impl TileCycles {
    /// Cycles in which a network had no word.
    pub fn empty_of(&self, network: Network) -> u64 {
        self.empty[network as usize]
    }

    /// Cycles in which a network had no room.
    pub fn full_of(&self, network: Network) -> u64 {
        self.full[network as usize]
    }

    /// All cycles.
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

/// Instructions that a tile processor has executed, by what they do. They add up to
/// [`TileCycles::executed`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// They take a word from a network, wherever they put it.
    pub taken: u64,
    /// They give a word to a network, wherever they have it from.
    pub given: u64,
    /// They branch, or could have.
    pub branches: u64,
    /// All others: they compute, and reach memory.
    pub others: u64,
}

impl Work {
    /// Counts an instruction that was executed so often.
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

/// Cycles of a switch processor by what it did. They add up to the cycles until it halted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchCycles {
    /// It executed an instruction.
    pub executed: u64,
    /// It went on elsewhere than predicted.
    pub branches: u64,
    /// A word of its tile was missing: one to route, or a count.
    pub empty_tile: u64,
    /// A word of a neighbour or a device was missing.
    pub empty: u64,
    /// Its tile had no room.
    pub full_tile: u64,
    /// A neighbour or a device had no room.
    pub full: u64,
}

impl SwitchCycles {
    /// All cycles.
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
