//! Runs of instructions that only take time.

/// A number of instructions with equal cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    pub(super) count: u16,
    pub(super) cycles: u8,
}

impl Run {
    /// Takes the instructions if each takes one cycle; returns their number, else 0.
    #[inline(always)]
    pub(super) fn take_singles(&mut self) -> u64 {
        let singles = if self.cycles == 1 { std::mem::take(&mut self.count) } else { 0 };
        u64::from(singles)
    }

    /// The total number of cycles.
    pub(super) fn cycles(self) -> u64 {
        u64::from(self.count) * u64::from(self.cycles)
    }
}
