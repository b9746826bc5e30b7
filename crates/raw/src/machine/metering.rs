//! The energy of a machine over its run, over time and across chips that replace each other.

use wireloom_power::Account;
use wireloom_sim::stats::Series;
use wireloom_sim::{Clock, SpecError, Time};

use crate::Chip;
use crate::energy;

/// Keeps the account of the chips of a machine.
#[derive(Clone, Debug)]
pub struct Metering {
    account: Account,
    clock: Clock,
    /// Cycles of earlier chips.
    before: u64,
    interval: Option<Time>,
    /// Completed intervals.
    intervals: u64,
}

impl Metering {
    /// Creates the account of a chip. `interval` is the interval of the record over time, if there
    /// is one.
    ///
    /// # Errors
    /// If a number of the description is out of its range.
    pub fn new(chip: &Chip, interval: Option<Time>) -> Result<Self, SpecError> {
        let interval = interval.map(|interval| interval.max(Time(1)));
        let account = energy::account(chip, interval)?;
        let clock = energy::clock(chip.spec());
        Ok(Self { account, clock, before: 0, interval, intervals: 0 })
    }

    /// Returns the cycles that the chip can run before the interval ends, at least 1 and at most
    /// `most`.
    pub fn cycles(&self, chip: &Chip, most: u64) -> u64 {
        let Some(end) = self.end() else { return most };
        // The last clock edge not after the end of the interval. All events before it belong to the
        // interval.
        let last = self.clock.edge_from(end + Time(1)) - 1;
        last.saturating_sub(self.before + chip.cycles()).clamp(1, most)
    }

    /// Returns the time at which the interval ends.
    fn end(&self) -> Option<Time> {
        Some(Time(self.interval?.0.saturating_mul(self.intervals + 1)))
    }

    /// Call after the chip has run. Charges the chip if an interval is over.
    pub fn ran(&mut self, chip: &Chip) {
        let (Some(interval), Some(end)) = (self.interval, self.end()) else { return };
        let next = self.clock.edge(self.before + chip.cycles() + 1);
        if next > end {
            self.charge(chip);
            self.intervals = next.0 / interval.0;
        }
    }

    /// Charges everything that the chip has done.
    pub fn charge(&mut self, chip: &Chip) {
        self.account.advance(self.clock.edge(self.before + chip.cycles()));
        energy::charge(&mut self.account, chip, chip.cycles());
    }

    /// Restricts the account to events from now on. The record over time continues.
    pub fn begin_to_count(&mut self, chip: &Chip) {
        self.charge(chip);
        self.account.begin_to_count();
    }

    /// Continues with another chip, which replaces this one.
    pub fn replace(&mut self, chip: &Chip) {
        self.charge(chip);
        self.account.restart();
        self.before += chip.cycles();
    }

    /// Returns the account up to the last charge.
    pub fn charged(&self) -> &Account {
        &self.account
    }

    /// Returns the account up to now.
    pub fn account(&self, chip: &Chip) -> Account {
        let mut now = self.clone();
        now.charge(chip);
        now.account
    }

    /// Returns the power in each interval up to now, if there are intervals.
    pub fn over_time(&self, chip: &Chip) -> Option<Series> {
        self.interval.and_then(|_| self.account(chip).over_time())
    }
}
