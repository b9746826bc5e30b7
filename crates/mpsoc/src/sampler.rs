//! Time series of a machine.

use wireloom_sim::Time;
use wireloom_sim::stats::{Column, Series};

use super::machine::Totals;

/// Samples a machine at equal intervals.
#[derive(Clone)]
pub(super) struct Sampler {
    series: Series,
    usage: Column,
    mpps: Column,
    lost: Column,
    processors: Vec<Column>,
    /// The totals at the last sample.
    before: Totals,
    busy: Vec<u64>,
    next: Time,
}

impl Sampler {
    pub(super) fn new(interval: Time, processors: u32) -> Self {
        let mut series = Series::new(interval);
        let [usage, mpps, lost] = ["use", "mpps", "lost"].map(|name| series.column(name));
        let processors: Vec<Column> = (0..processors)
            .map(|number| series.column(&format!("processor_{number}_use")))
            .collect();
        let busy = vec![0; processors.len()];
        Self {
            next: series.interval(),
            series,
            usage,
            mpps,
            lost,
            processors,
            before: Totals::default(),
            busy,
        }
    }

    /// The time of the next sample: the end of the current interval, which does not include it.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// Takes a sample at that time or before, from the totals, the cycles in which each processor
    /// issued instructions, and the number of cycles per interval.
    pub(super) fn look(&mut self, totals: Totals, busy: Vec<u64>, cycles: f64) {
        let at = Time(self.next.0 - self.series.interval().0);
        let seconds = self.series.interval().as_seconds();
        let share = |busy: u64| busy as f64 / cycles;
        let (done, lost) = (totals.done - self.before.done, totals.lost - self.before.lost);
        self.series.add(self.usage, at, share(totals.busy - self.before.busy) / busy.len() as f64);
        self.series.add(self.mpps, at, done as f64 / seconds / 1e6);
        self.series.add(self.lost, at, lost as f64);
        for ((column, now), before) in self.processors.iter().zip(&busy).zip(&self.busy) {
            self.series.add(*column, at, share(now - before));
        }
        (self.before, self.busy) = (totals, busy);
        if totals.now + Time(1) < self.next {
            return;
        }
        self.next = Time(self.next.0 + self.series.interval().0);
    }

    /// The time series: a row for each interval, with `use` (share of the processors' cycles),
    /// `mpps` (million packets per second that threads finished), `lost` (packets) and the use of
    /// each processor.
    pub(super) fn series(&self) -> &Series {
        &self.series
    }
}
