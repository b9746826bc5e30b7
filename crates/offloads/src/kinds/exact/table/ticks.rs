//! Entries that end at ticks: their durations, their places in the wheel, and which are due.

use super::{Ends, Raw};
use crate::memory::prefetch;
use crate::time::{self, LOOSE, NEVER, Places, Wheel};

/// The entries, which contain their places in the wheel.
struct Entries<'a> {
    words: &'a mut [u64],
    stride: usize,
}

impl Places for Entries<'_> {
    fn get(&self, entry: u32) -> u64 {
        self.words[entry as usize * self.stride + 3]
    }

    fn set(&mut self, entry: u32, place: u64) {
        self.words[entry as usize * self.stride + 3] = place;
    }

    fn fetch(&self, entry: u32) {
        prefetch(&self.words[entry as usize * self.stride]);
    }
}

impl Raw {
    /// Returns the duration of an entry that ends at a tick, in nanoseconds; [`NEVER`] if it stays.
    pub fn duration_ns(&self, entry: u32) -> u64 {
        self.word(entry, 2)
    }

    /// Returns when an entry of a table with ticks ends, in nanoseconds; [`NEVER`] if it stays.
    pub fn deadline_ns(&self, entry: u32) -> u64 {
        match self.ends {
            Ends::AtTicks { tick_ns, .. } if !self.is_static(entry) => {
                time::deadline(tick_ns, self.touched_ns(entry), self.duration_ns(entry))
            }
            _ => NEVER,
        }
    }

    /// Gives an entry a duration, in a table with ticks. A static entry stays.
    pub fn keep(&mut self, entry: u32, duration_ns: u64) {
        if self.is_static(entry) {
            return;
        }
        let before = self.deadline_ns(entry);
        self.set_word(entry, 2, duration_ns);
        // As after a touch, an entry in a slot before its deadline moves on when the slot comes.
        let is_in_wheel = self.word(entry, 3) != LOOSE;
        if !(is_in_wheel && self.deadline_ns(entry) >= before) {
            self.leave_wheel(entry);
            self.enter_wheel(entry);
        }
    }

    /// Starts the time of an entry that has just been inserted.
    pub fn begin(&mut self, entry: u32, now_ns: u64) {
        self.link(entry, now_ns);
        if let Ends::AtTicks { duration_ns, .. } = self.ends {
            self.set_word(entry, 2, duration_ns);
            self.enter_wheel(entry);
        }
    }

    /// Puts an entry that ends in the wheel.
    fn enter_wheel(&mut self, entry: u32) {
        let deadline = self.deadline_ns(entry);
        if let Ends::AtTicks { tick_ns, .. } = self.ends
            && deadline != NEVER
        {
            let (mut places, wheel) = self.places();
            wheel.put(&mut places, entry, deadline / tick_ns);
            self.next_ns = self.next_ns.min(deadline);
        }
    }

    pub(super) fn leave_wheel(&mut self, entry: u32) {
        if let Ends::AtTicks { .. } = self.ends {
            let (mut places, wheel) = self.places();
            wheel.take(&mut places, entry);
        }
    }

    fn places(&mut self) -> (Entries<'_>, &mut Wheel) {
        let stride = self.stride();
        (Entries { words: &mut self.entries, stride }, &mut self.wheel)
    }

    /// Whether entries end at ticks.
    pub fn has_ticks(&self) -> bool {
        matches!(self.ends, Ends::AtTicks { .. })
    }

    /// Whether an entry stays in the table until a step claims it.
    pub fn is_claimed(&self) -> bool {
        matches!(self.ends, Ends::AtTicks { is_claimed: true, .. })
    }

    /// Returns a time before which no step has an entry to claim, in nanoseconds; `None` if there
    /// are no such entries.
    pub fn next_due(&self) -> Option<u64> {
        (self.is_claimed() && self.next_ns != NEVER).then_some(self.next_ns)
    }

    /// Takes an entry out of the wheel that has ended at this time.
    fn ended(&mut self, tick_ns: u64, now_ns: u64) -> Option<u32> {
        loop {
            let (mut places, wheel) = self.places();
            let entry = wheel.pop(&mut places, now_ns / tick_ns)?;
            if self.deadline_ns(entry) <= now_ns {
                return Some(entry);
            }
            self.enter_wheel(entry);
        }
    }

    /// Passes the entries that have ended at this time and that a step has to claim to `visit`, in
    /// the order of their keys. Each of them must then be [claimed](Self::is_over).
    pub fn due(&mut self, now_ns: u64, visit: &mut dyn FnMut(&[u64])) {
        let Ends::AtTicks { tick_ns, is_claimed: true, .. } = self.ends else { return };
        let mut due = Vec::new();
        while let Some(entry) = self.ended(tick_ns, now_ns) {
            due.push(entry);
        }
        self.look_ahead(tick_ns);
        due.sort_unstable_by(|a, b| self.key(*a).iter().rev().cmp(self.key(*b).iter().rev()));
        due.into_iter().for_each(|entry| visit(self.key(entry)));
    }

    /// Removes the entries that have ended at the table's time, unless steps claim them.
    pub fn end(&mut self) {
        let Ends::AtTicks { tick_ns, is_claimed: false, .. } = self.ends else { return };
        if self.time_ns < self.next_ns {
            return;
        }
        while let Some(entry) = self.ended(tick_ns, self.time_ns) {
            self.remove(entry);
        }
        self.look_ahead(tick_ns);
    }

    fn look_ahead(&mut self, tick_ns: u64) {
        let next = self.wheel.next().map(|tick| tick.saturating_mul(tick_ns));
        self.next_ns = next.unwrap_or(NEVER);
    }

    /// Whether the time of an entry is over, so that its step may claim it. An entry whose time was
    /// prolonged meanwhile is put back into the wheel.
    pub fn is_over(&mut self, entry: u32) -> bool {
        let is_over = self.deadline_ns(entry) <= self.time_ns;
        if !is_over {
            self.leave_wheel(entry);
            self.enter_wheel(entry);
        }
        is_over
    }
}
