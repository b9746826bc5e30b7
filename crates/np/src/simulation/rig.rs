//! Control of the embedded test rig: starts it, stops it, and reads its report (`wl_report`).

use serde::Serialize;
use wireloom_bits::Bits;

use super::error::Fault;
use super::execution::Use;
use super::run::Simulation;

/// The target number of the report on its control bus.
const TARGET: u8 = 0;
/// The entry that starts and stops the rig.
const RUN: u32 = 0;
/// If no packet returns for this many cycles, no packet is outstanding.
const QUIET: u64 = 20_000;

/// The counts of the rig's report unit since reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RigReport {
    /// Cycles in which the generators ran.
    pub cycles: u64,
    /// Packets that the generators sent.
    pub sent: u64,
    /// Cycles, summed over all lanes, in which a packet was refused.
    pub refused: u64,
    /// Packets that returned.
    pub received: u64,
    /// Received packets with missing packets before them.
    pub gaps: u64,
    /// Packets that returned too late, or twice.
    pub late: u64,
    /// Packets that differ from the packets sent.
    pub wrong: u64,
    /// Packets that the network processor dropped.
    pub events: u64,
}

impl RigReport {
    /// Returns the number of packets that neither returned nor were dropped.
    pub fn missing(&self) -> u64 {
        self.sent.saturating_sub(self.received + self.events)
    }

    /// Returns whether every packet returned unchanged and in order, or was dropped by the program.
    /// A drop leaves a gap.
    pub fn is_faultless(&self) -> bool {
        self.received + self.events == self.sent
            && self.gaps <= self.events
            && self.late == 0
            && self.wrong == 0
    }
}

/// The result of a run of the rig.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RigRun {
    /// The report at the end of the run.
    #[serde(flatten)]
    pub report: RigReport,
    /// Packets per cycle that returned or were dropped, over the last three quarters of the run.
    pub packets_per_cycle: f64,
    /// The utilisation of each part over the same cycles.
    pub uses: Vec<Use>,
}

impl Simulation {
    /// Runs the generators of an embedded test rig for this many cycles, plus the cycles of control
    /// accesses, and waits until no more packets return.
    ///
    /// # Errors
    /// If the machine fails, or is not a rig.
    pub fn run_rig(&mut self, cycles: u64) -> Result<RigRun, Fault> {
        self.switch_rig(true)?;
        self.rest(cycles / 4)?;
        let (first, probes) = (self.rig_report()?, self.probes());
        self.rest(cycles - cycles / 4)?;
        let (last, later) = (self.rig_report()?, self.probes());
        let counts: Vec<u64> =
            later.iter().zip(probes).map(|(later, before)| later - before).collect();
        let window = (last.cycles - first.cycles).max(1);
        let uses = Use::of(self.geometry(), &counts, window);
        let done = |report: RigReport| report.received + report.events;
        let packets_per_cycle = (done(last) - done(first)) as f64 / window as f64;
        self.switch_rig(false)?;
        let mut report = self.rig_report()?;
        loop {
            self.rest(QUIET)?;
            let now = self.rig_report()?;
            if now == report {
                return Ok(RigRun { report, packets_per_cycle, uses });
            }
            report = now;
        }
    }

    fn switch_rig(&mut self, on: bool) -> Result<(), Fault> {
        self.write_entry_at(
            crate::processor::REPORT_BASE,
            TARGET,
            RUN,
            &Bits::new(64, u128::from(on)),
        )
    }

    /// Returns the counts of the report so far.
    ///
    /// # Errors
    /// Returns the errors of [`Self::run_rig`].
    pub fn rig_report(&mut self) -> Result<RigReport, Fault> {
        let entries: Vec<u32> = (0..8).collect();
        let counts = self.read_entries_at(crate::processor::REPORT_BASE, TARGET, &entries)?;
        let count = |entry: usize| counts[entry].low_u64();
        Ok(RigReport {
            cycles: count(0),
            sent: count(1),
            refused: count(2),
            received: count(3),
            gaps: count(4),
            late: count(5),
            wrong: count(6),
            events: count(7),
        })
    }
}
