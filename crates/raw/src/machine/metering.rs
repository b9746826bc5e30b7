//! The energy of a machine over its run, also over time and over chips that replace each other.

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
    /// Cycles of the chips before this one.
    before: u64,
    interval: Option<Time>,
    /// Intervals that are over.
    intervals: u64,
}

impl Metering {
    /// Begins with a chip; `interval` is that of the record over time, if there is one.
    ///
    /// # Errors
    /// If a number of the description is out of its range.
    pub fn new(chip: &Chip, interval: Option<Time>) -> Result<Self, SpecError> {
        let interval = interval.map(|interval| interval.max(Time(1)));
        let account = energy::account(chip, interval)?;
        let clock = energy::clock(chip.spec());
        Ok(Self { account, clock, before: 0, interval, intervals: 0 })
    }

    /// The cycles that the chip can run until the interval ends, at most `most` and at least 1.
    pub fn cycles(&self, chip: &Chip, most: u64) -> u64 {
        let Some(end) = self.end() else { return most };
        // The last edge that is not after the end: all events before it are in the interval.
        let last = self.clock.edge_from(end + Time(1)) - 1;
        last.saturating_sub(self.before + chip.cycles()).clamp(1, most)
    }

    /// When the interval ends.
    fn end(&self) -> Option<Time> {
        Some(Time(self.interval?.0.saturating_mul(self.intervals + 1)))
    }

    /// The chip has run. Charges it if an interval is over.
    pub fn ran(&mut self, chip: &Chip) {
        let (Some(interval), Some(end)) = (self.interval, self.end()) else { return };
        let next = self.clock.edge(self.before + chip.cycles() + 1);
        if next > end {
            self.charge(chip);
            self.intervals = next.0 / interval.0;
        }
    }

    /// Charges all that the chip did.
    pub fn charge(&mut self, chip: &Chip) {
        self.account.advance(self.clock.edge(self.before + chip.cycles()));
        energy::charge(&mut self.account, chip, chip.cycles());
    }

    /// Restricts the account to what happens from now on; the record over time goes on.
    pub fn begin_to_count(&mut self, chip: &Chip) {
        self.charge(chip);
        self.account.begin_to_count();
    }

    /// Another chip replaces this one.
    pub fn replace(&mut self, chip: &Chip) {
        self.charge(chip);
        self.account.restart();
        self.before += chip.cycles();
    }

    /// The account up to the last charge.
    pub fn charged(&self) -> &Account {
        &self.account
    }

    /// The account up to now.
    pub fn account(&self, chip: &Chip) -> Account {
        let mut now = self.clone();
        now.charge(chip);
        now.account
    }

    /// The power in each interval up to now, if there are intervals.
    pub fn over_time(&self, chip: &Chip) -> Option<Series> {
        self.interval.and_then(|_| self.account(chip).over_time())
    }
}
