//! A hardware thread: a register bank, and its state in the processor.

use wireloom_machine::LineCounts;
use wireloom_sim::stats::Record;
use wireloom_sim::timeline::{Label, Track};
use wireloom_sim::{Clock, Time, Timeline};

use super::context::{Context, Wait};
use super::finish::Spent;
use super::processor::Outside;
use super::run::Run;
use super::workload::Outcome;

/// A hardware thread.
#[derive(Clone, Debug)]
pub(super) struct Hardware<T> {
    pub(super) registers: T,
    pub(super) context: Context,
    pub(super) track: Track,
    /// The time up to which the timeline shows the thread's activity.
    pub(super) shown: Time,
    /// The state when packets began to count.
    pub(super) before: Before,
    /// What it did at each instruction, if that is counted.
    pub(super) profile: Option<Box<ThreadProfile>>,
}

/// What a thread did at each instruction of its program.
#[derive(Clone, Debug)]
pub(super) struct ThreadProfile {
    counts: Vec<LineCounts>,
    clock: Clock,
    /// The number of the instruction that it issued last.
    last: usize,
}

impl ThreadProfile {
    pub(super) fn new(instructions: usize, clock: Clock) -> Self {
        Self { counts: vec![LineCounts::default(); instructions], clock, last: usize::MAX }
    }

    /// Counts an issue of an instruction, by its number. One that waits is issued again.
    pub(super) fn issued(&mut self, index: usize, outcome: Outcome) {
        self.last = index;
        if let Some(counts) = self.counts.get_mut(index) {
            counts.instructions += u64::from(matches!(outcome, Outcome::Done | Outcome::Jumped));
        }
    }

    /// Counts the cycles for which the last issued instruction has blocked the pipeline.
    pub(super) fn executed(&mut self, cycles: u32) {
        if let Some(counts) = self.counts.get_mut(self.last) {
            counts.executing += u64::from(cycles);
        }
    }

    /// Counts a wait of the last issued instruction.
    fn waited(&mut self, from: Time, until: Time) {
        if let Some(counts) = self.counts.get_mut(self.last) {
            let edges = [from, until].map(|time| self.clock.edge_from(time));
            counts.waiting += edges[1].saturating_sub(edges[0]);
        }
    }
}

/// The statistics of a thread up to a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before {
    at: Time,
    spent: Spent,
    network: Time,
    idle: Time,
}

impl<T> Hardware<T> {
    /// Shows the thread's activity since its last change on the timeline, up to a time. The awaited
    /// reply can arrive while the instruction is still in the pipeline; then the pipeline takes
    /// precedence.
    pub(super) fn show(&mut self, label: Label, until: Time, timeline: &mut Timeline) {
        let from = self.context.since.max(self.shown);
        if until > from {
            timeline.span(self.track, label, from, until);
            self.shown = until;
        }
    }

    /// Ends the wait of the thread and returns the awaited event.
    pub(super) fn end_wait(&mut self, outside: &mut Outside<'_>) -> Wait {
        let Self { context, .. } = self;
        let wait = std::mem::take(&mut context.wait);
        let waited = outside.now.since(context.since);
        if let Some(profile) = &mut self.profile {
            profile.waited(context.since, outside.now);
        }
        let label = if wait.is_idle() {
            context.idle += waited;
            outside.labels.idle
        } else {
            context.spent.network += waited;
            outside.labels.waits
        };
        self.show(label, outside.now, outside.timeline);
        self.context.since = outside.now;
        wait
    }

    /// What it did at each instruction up to a time; `None` if that is not counted.
    pub(super) fn profile(&self, now: Time) -> Option<Vec<LineCounts>> {
        let mut profile = self.profile.as_deref()?.clone();
        if self.context.wait != Wait::Nothing {
            profile.waited(self.context.since, now);
        }
        Some(profile.counts)
    }

    /// The cost of the thread's issued instructions, where `to_come` is counted but not yet issued.
    pub(super) fn spent(&self, to_come: Run) -> Spent {
        let mut spent = self.context.spent;
        spent.instructions -= u64::from(to_come.count);
        spent.cycles -= to_come.cycles();
        spent
    }

    /// The times for which the thread has waited for the network, and has been idle.
    fn waited(&self, spent: Spent, now: Time) -> (Time, Time) {
        let Context { idle, since, wait, .. } = &self.context;
        let current = |counts: bool| if counts { now.since(*since) } else { Time::ZERO };
        let network = spent.network + current(!wait.is_idle() && *wait != Wait::Nothing);
        (network, *idle + current(wait.is_idle()))
    }

    /// Restricts the statistics to the time from now on. `spent` is the cost of the instructions
    /// issued so far.
    pub(super) fn begin_to_count(&mut self, spent: Spent, now: Time) {
        let (network, idle) = self.waited(spent, now);
        self.before = Before { at: now, spent, network, idle };
    }

    /// The cost of issued instructions since packets began to count.
    pub(super) fn counted(&self, spent: Spent) -> Spent {
        spent.since(self.before.spent)
    }

    /// Statistics: `instructions`, and shares of the time: `network` (waiting for the network),
    /// `idle` (waiting for packets, calls, or a thread to execute). `spent` is the cost of issued
    /// instructions.
    pub(super) fn record(&self, spent: Spent, now: Time) -> Record {
        let (network, idle) = self.waited(spent, now);
        let Before { at, network: network_before, idle: idle_before, .. } = self.before;
        let (network, idle) = (network - network_before, idle - idle_before);
        let share = |time: Time| time.0 as f64 / now.since(at).0.max(1) as f64;
        let spent = self.counted(spent);
        Record::new()
            .with("instructions", spent.instructions)
            .with("accesses", spent.accesses)
            .with("network", share(network))
            .with("idle", share(idle))
    }
}
