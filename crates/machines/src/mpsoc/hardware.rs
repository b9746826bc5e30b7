//! A hardware thread: a register bank, and what the processor keeps for it.

use wireloom_sim::Time;
use wireloom_sim::stats::Record;
use wireloom_sim::timeline::Track;

use super::context::{Context, Wait};
use super::mpe::Spent;
use super::processor::Outside;
use super::workload::Run;

/// A hardware thread.
#[derive(Debug)]
pub(super) struct Hardware<T> {
    pub(super) registers: T,
    pub(super) context: Context,
    pub(super) track: Track,
}

impl<T> Hardware<T> {
    /// What the thread waited for has come: what that was.
    pub(super) fn end_wait(&mut self, outside: &mut Outside<'_>) -> Wait {
        let Self { context, track, .. } = self;
        let wait = std::mem::take(&mut context.wait);
        let waited = outside.now.since(context.since);
        let label = if wait.is_idle() {
            context.idle += waited;
            outside.labels.idle
        } else {
            context.spent.network += waited;
            outside.labels.waits
        };
        outside.timeline.span(*track, label, context.since, outside.now.max(context.since));
        context.since = outside.now;
        wait
    }

    /// What it has spent, if so much of it was not issued.
    pub(super) fn spent(&self, to_come: Run) -> Spent {
        let mut spent = self.context.spent;
        spent.instructions -= u64::from(to_come.count);
        spent.cycles -= to_come.cycles();
        spent
    }

    /// `instructions`, and shares of the time: `network` (waiting for it), `idle` (waiting for packets, calls, or something to execute); `spent` on instructions
    /// that were issued.
    pub(super) fn record(&self, spent: Spent, now: Time) -> Record {
        let Context { idle, since, wait, .. } = &self.context;
        let current = |counts: bool| if counts { now.since(*since) } else { Time::ZERO };
        let idle = *idle + current(wait.is_idle());
        let network = spent.network + current(!wait.is_idle() && *wait != Wait::Nothing);
        let share = |time: Time| time.0 as f64 / now.0.max(1) as f64;
        Record::new()
            .with("instructions", spent.instructions)
            .with("accesses", spent.accesses)
            .with("network", share(network))
            .with("idle", share(idle))
    }
}
