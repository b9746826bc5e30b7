//! The governor section of a machine description.

use serde::{Deserialize, Serialize};
use wireloom_sim::spec::{megahertz, within};
use wireloom_sim::{Clock, SpecError, Time};

/// The governor and its parameters.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GovernorSpec {
    /// The kind of governor.
    pub kind: GovernorKind,
    /// Cycles of `engine.clock_mhz` between two decisions, 64 to 2^24.
    pub period_cycles: u32,
    /// The clocks and voltages of engines, fastest first, 1 to 16 steps.
    pub steps: Vec<Step>,
    /// The duration of a voltage change in nanoseconds, 0 to 10,000,000. The engine does not run
    /// meanwhile.
    pub change_ns: u32,
    /// The time to restart a stopped clock in nanoseconds, 0 to 10,000,000.
    pub wake_ns: u32,
    /// The waiting time of a packet at a port, in nanoseconds, after which stopped engines start; 0
    /// to 10,000,000.
    pub wait_ns: u32,
    /// The parameters of `dvs`.
    pub dvs: DvsSpec,
    /// The parameters of `gating`.
    pub gating: GatingSpec,
    /// The parameters of `demand`.
    pub demand: DemandSpec,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GovernorKind {
    /// Voltages and clocks never change.
    None,
    /// Each engine's voltage and clock follow its idle time.
    Dvs,
    /// Engines stop while many threads wait for packets.
    Gating,
    /// Voltage, clock and number of running engines follow the packets to be served.
    Demand,
}

/// A clock and the voltage that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The clock; in machine files `clock_mhz`.
    #[serde(rename = "clock_mhz", with = "megahertz")]
    pub clock: Clock,
    /// The voltage in millivolts, 500 to 5,500.
    pub millivolts: u32,
}

/// The parameters of `dvs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DvsSpec {
    /// The idle share of a period, in percent, above which an engine slows down by a step; 0 to
    /// 100.
    pub idle_percent: u32,
}

/// The parameters of `gating`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GatingSpec {
    /// The number of waiting threads above which the counter rises, 0 to 64.
    pub waiting: u32,
    /// The initial threshold that the counter must exceed to stop an engine, 0 to 1,000,000.
    pub count: u32,
    /// MPKTs that a port holds for bursts in addition to `ports.receive_mpkts`, 0 to 4,096.
    pub extra_mpkts: u32,
}

/// The parameters of `demand`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DemandSpec {
    /// Capacity falls at once to a level whose predicted use of engine cycles and threads is at
    /// most this share, in percent; 1 to 99.
    pub low_percent: u32,
    /// The fill level of a port that starts all engines, in percent of `ports.receive_mpkts` (at
    /// most 128); 1 to 100. Twice this level makes engines faster.
    pub urgent_percent: u32,
    /// The number of periods in a window, after which a level is judged; 2 to 1,000.
    pub window: u32,
    /// The tolerated loss of throughput at a slower level under overload, in tenths of a percent, 1
    /// to 500.
    pub loss_permille: u32,
    /// The number of engines that may change their voltage at the same time, 1 to 16.
    pub changes: u32,
    /// MPKTs that a port holds for bursts in addition to `ports.receive_mpkts`, 0 to 4,096.
    pub extra_mpkts: u32,
}

impl GovernorSpec {
    /// Checks all ranges, and that the first step equals the clock and voltage without a governor.
    ///
    /// # Errors
    /// The first wrong value, by its key.
    pub fn check(&self, clock: Clock, millivolts: u32) -> Result<(), SpecError> {
        within("period_cycles", self.period_cycles, 64..=1 << 24)?;
        within("change_ns", self.change_ns, 0..=10_000_000)?;
        within("wake_ns", self.wake_ns, 0..=10_000_000)?;
        within("wait_ns", self.wait_ns, 0..=10_000_000)?;
        within("steps", self.steps.len(), 1..=16)?;
        within("dvs.idle_percent", self.dvs.idle_percent, 0..=100)?;
        within("gating.waiting", self.gating.waiting, 0..=64)?;
        within("gating.count", self.gating.count, 0..=1_000_000)?;
        within("gating.extra_mpkts", self.gating.extra_mpkts, 0..=4096)?;
        let demand = &self.demand;
        within("demand.low_percent", demand.low_percent, 1..=99)?;
        within("demand.urgent_percent", demand.urgent_percent, 1..=100)?;
        within("demand.window", demand.window, 2..=1000)?;
        within("demand.loss_permille", demand.loss_permille, 1..=500)?;
        within("demand.changes", demand.changes, 1..=16)?;
        within("demand.extra_mpkts", demand.extra_mpkts, 0..=4096)?;
        for step in &self.steps {
            within("steps.millivolts", step.millivolts, 500..=5500)?;
        }
        let falls = |pair: &[Step]| {
            pair[0].clock.rate() > pair[1].clock.rate() && pair[0].millivolts >= pair[1].millivolts
        };
        if !self.steps.windows(2).all(falls) {
            let problem = "is not in order: each step is slower than the one before, at no more \
                           voltage";
            return Err(SpecError::new("steps", problem));
        }
        let first = self.steps[0];
        let is_same = first.clock == clock && first.millivolts == millivolts;
        if self.kind != GovernorKind::None && !is_same {
            let problem = format!(
                "begins with {:.1} MHz at {} mV; it must begin with `engine.clock_mhz`, {:.1}, at \
                 `power.voltage_mv`, {millivolts}",
                first.clock.rate() / 1e6,
                first.millivolts,
                clock.rate() / 1e6
            );
            return Err(SpecError::new("steps", problem));
        }
        Ok(())
    }

    /// The duration of a voltage change.
    pub fn change(&self) -> Time {
        Time::nanoseconds(self.change_ns.into())
    }

    /// The time to restart a stopped clock.
    pub fn wake(&self) -> Time {
        Time::nanoseconds(self.wake_ns.into())
    }

    /// The longest time for which a packet may wait at a port while engines are stopped.
    pub fn wait(&self) -> Time {
        Time::nanoseconds(self.wait_ns.into())
    }

    /// MPKTs that a port holds in addition to `ports.receive_mpkts`.
    pub fn extra_mpkts(&self) -> u32 {
        match self.kind {
            GovernorKind::Gating => self.gating.extra_mpkts,
            GovernorKind::Demand => self.demand.extra_mpkts,
            GovernorKind::None | GovernorKind::Dvs => 0,
        }
    }
}
