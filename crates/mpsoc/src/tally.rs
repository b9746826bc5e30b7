//! Counts of the resources that a thread's instructions use in its processor.

use wireloom_isa::Uses;

/// The number of fields of a tally.
const FIELDS: usize = 8;
/// The number of additions in a division: one for each bit.
const DIVISION_STEPS: u16 = 32;

/// Running sums of the resource use of a program's instructions. The sums overflow. The difference
/// of two does not, if they are no more than 2,000 instructions apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums([u16; FIELDS]);

impl Sums {
    /// The sums before each instruction, then the sums over all instructions.
    pub(super) fn of(all: impl Iterator<Item = Uses>) -> Vec<Self> {
        let mut sums = vec![Self::default()];
        let mut last = Self::default();
        for uses in all {
            let Uses { add, logic, shift, multiply, divide, reads, writes, loads, stores } = uses;
            let add = u16::from(add) + DIVISION_STEPS * u16::from(divide);
            let rest = [logic, shift, multiply, reads, writes, loads, stores].map(u16::from);
            for (sum, used) in last.0.iter_mut().zip([add].into_iter().chain(rest)) {
                *sum = sum.wrapping_add(used);
            }
            sums.push(last);
        }
        sums
    }
}

/// The totals of a thread, or of all threads of a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    fields: [u64; FIELDS],
    /// The number of loads of constants.
    pub(super) constants: u64,
    /// The numbers of loads and stores that go neither to the local store nor to constants, but to
    /// registers of the message passing engine, shared memory and calls.
    pub(super) outside: [u64; 2],
}

impl Tally {
    /// Counts the instructions between two positions in a program.
    #[inline(always)]
    pub(super) fn add(&mut self, from: &Sums, to: &Sums) {
        for ((field, from), to) in self.fields.iter_mut().zip(from.0).zip(to.0) {
            *field += u64::from(to.wrapping_sub(from));
        }
    }

    /// Adds another tally.
    pub(super) fn join(&mut self, other: &Self) {
        self.fields.iter_mut().zip(other.fields).for_each(|(field, other)| *field += other);
        self.constants += other.constants;
        self.outside.iter_mut().zip(other.outside).for_each(|(field, other)| *field += other);
    }

    /// The numbers of additions, divisions' included, and of logical operations.
    pub(super) fn alu(&self) -> [u64; 2] {
        [self.fields[0], self.fields[1]]
    }

    /// The number of shifts.
    pub(super) fn shifts(&self) -> u64 {
        self.fields[2]
    }

    /// The number of multiplications.
    pub(super) fn products(&self) -> u64 {
        self.fields[3]
    }

    /// The numbers of register reads and writes.
    pub(super) fn registers(&self) -> [u64; 2] {
        [self.fields[4], self.fields[5]]
    }

    /// The numbers of words that instructions read from local stores and wrote to them.
    pub(super) fn local(&self) -> [u64; 2] {
        let [loads, stores] = [self.fields[6], self.fields[7]];
        let elsewhere = self.constants + self.outside[0];
        [loads.saturating_sub(elsewhere), stores.saturating_sub(self.outside[1])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_between_two_places_counts_even_where_sums_overflow() {
        let uses = Uses {
            add: 1,
            divide: 1,
            reads: 2,
            writes: 1,
            loads: 16,
            stores: 3,
            ..Uses::default()
        };
        let sums = Sums::of(std::iter::repeat_n(uses, 5000));
        let mut tally = Tally::default();
        tally.add(&sums[10], &sums[14]);
        tally.add(&sums[4100], &sums[4104]);
        (tally.constants, tally.outside) = (5, [7, 2]);
        assert_eq!(tally.alu(), [8 * 33, 0]);
        assert_eq!((tally.shifts(), tally.products()), (0, 0));
        assert_eq!(tally.registers(), [16, 8]);
        assert_eq!(tally.local(), [8 * 16 - 12, 8 * 3 - 2]);
        let mut both = tally;
        both.join(&tally);
        assert_eq!(both.local(), [2 * (8 * 16 - 12), 2 * (8 * 3 - 2)]);
    }
}
