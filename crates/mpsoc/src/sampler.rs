//! Time series of a machine.

use wireloom_power::Account;
use wireloom_sim::stats::{Column, Series};
use wireloom_sim::{Energy, Time};

use super::totals::Totals;

/// The maximum number of intervals that are kept, so that a series of any length takes bounded
/// memory.
pub(super) const MOST_INTERVALS: usize = 8192;

/// Samples a machine at equal intervals. Whenever [`MOST_INTERVALS`] are complete, the interval
/// doubles.
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
    /// The energy up to the last sample: in total, of each processor, and of each part.
    account: Account,
    power: Vec<(Column, Energy)>,
    next: Time,
}

impl Sampler {
    /// Begins with an account at time 0.
    pub(super) fn new(interval: Time, processors: u32, account: &Account) -> Self {
        let mut series = Series::new(interval);
        let [usage, mpps, lost] = ["use", "mpps", "lost"].map(|name| series.column(name));
        let processors: Vec<Column> = (0..processors)
            .map(|number| series.column(&format!("processor_{number}_use")))
            .collect();
        let busy = vec![0; processors.len()];
        let names = energies(account).map(|(name, _)| format!("{name}_w"));
        let names: Vec<String> = names.collect();
        let power = names.iter().map(|name| (series.column(name), Energy(0))).collect();
        Self {
            next: series.interval(),
            series,
            usage,
            mpps,
            lost,
            processors,
            before: Totals::default(),
            busy,
            account: account.clone(),
            power,
        }
    }

    /// The time of the next sample: the exclusive end of the current interval.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// The account of energy. It must be charged before a sample is taken.
    pub(super) fn account(&mut self) -> &mut Account {
        &mut self.account
    }

    /// Takes a sample at the time of the next one or before, from the totals, the cycles in which
    /// each processor issued instructions, and the number of cycles per interval.
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
        let interval = self.series.interval();
        for ((column, before), (_, now)) in self.power.iter_mut().zip(energies(&self.account)) {
            let spent = Energy(now.0 - before.0);
            self.series.add(*column, at, spent.mean_watts(interval));
            *before = now;
        }
        (self.before, self.busy) = (totals, busy);
        if totals.now + Time(1) < self.next {
            return;
        }
        if self.series.rows() >= MOST_INTERVALS {
            // The number is even, so that the next interval begins where a merged one ends.
            self.series.double_interval(&[self.lost]);
        }
        self.next = Time(self.next.0 + self.series.interval().0);
    }

    /// The time series: a row for each interval, with `use` (share of the processors' cycles),
    /// `mpps` (million packets per second that threads finished), `lost` (packets), the use of
    /// each processor, and power.
    pub(super) fn series(&self) -> &Series {
        &self.series
    }
}

/// The total energy, the energy of each unit, and the energy of each part, by name.
fn energies(account: &Account) -> impl Iterator<Item = (&str, Energy)> {
    let units = account.plan().units.iter().enumerate();
    let units = units.map(|(number, name)| (name.as_str(), account.unit(number)));
    std::iter::once(("power", account.total())).chain(units).chain(account.parts())
}

#[cfg(test)]
mod tests {
    use wireloom_power::{PartKey, PartModel, Plan, parts};

    use super::*;

    parts! {
        enum Part {
            Clock = "clock" [cycle],
        }
    }

    /// A clock that takes a nanojoule in each event.
    fn account() -> Account {
        let energies = vec![("cycle", Energy::picojoules(1000))];
        let model = PartModel { energies, nanowatts: 0 };
        let parts = vec![(Part::Clock.part().clone(), model)];
        let plan = Plan { units: Vec::new(), unit_parts: Vec::new(), parts, millivolts: 1200 };
        Account::new(plan, None).expect("a plan")
    }

    /// One of two processors is busy. Each nanosecond brings a packet and an event of the clock,
    /// each 10 ns a loss.
    #[test]
    fn a_long_series_has_bounded_length_and_the_same_contents() {
        let mut sampler = Sampler::new(Time::nanoseconds(10), 2, &account());
        let samples = 5 * MOST_INTERVALS as u64 + 77;
        let mut end = Time::ZERO;
        while end < Time::nanoseconds(10 * samples) {
            end = sampler.next();
            let ns = end.0 / 1000;
            let cycles = sampler.series().interval().0 / 1000;
            let now = Time(end.0 - 1);
            let totals = Totals { now, done: ns, lost: ns / 10, busy: ns, ..Totals::default() };
            sampler.account().advance(now);
            sampler.account().charge_part(Part::Clock, &[("cycle", ns)]);
            sampler.look(totals, vec![ns, 0], cycles as f64);
            assert!(sampler.series().rows() <= MOST_INTERVALS);
        }
        let series = sampler.series();
        assert_eq!(series.interval(), Time::nanoseconds(80));
        assert!(series.rows() > MOST_INTERVALS / 2, "{}", series.rows());
        assert_eq!(series.rows() as u64 * 80_000, end.0);
        for (name, cells) in series.columns() {
            let wanted = match name {
                "use" => 0.5,
                "mpps" => 1000.0,
                "lost" => 8.0,
                // A nanojoule each nanosecond.
                "processor_0_use" | "power_w" | "clock_w" => 1.0,
                _ => 0.0,
            };
            assert!(cells.iter().all(|cell| (cell - wanted).abs() < 1e-9), "{name}: {cells:?}");
        }
    }
}
