//! Governors decide on the voltages and clocks of engines while packets flow.
//!
//! A governor sees the chip at the end of each period, and at once when a port fills beyond a mark.
//! It returns actions. It is independent of the simulator: its input is [`Seen`], its output are
//! [`Action`]s.

mod demand;
mod dvs;
mod gating;
mod spec;

pub use demand::Demand;
pub use dvs::Dvs;
pub use gating::Gating;
pub use spec::{DemandSpec, DvsSpec, GatingSpec, GovernorKind, GovernorSpec, Step};

/// The mode of an engine, as far as governors know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The engine's clock runs.
    #[default]
    Running,
    /// The engine is paused while its voltage and clock change.
    Changing,
    /// The engine completes its packets and takes no new ones.
    Stopping,
    /// The engine's clock is stopped.
    Stopped,
}

/// The state of an engine over a period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngineSeen {
    /// The share of the engine's cycles in which no context was ready; NaN if it had no cycle.
    pub idle: f64,
    pub step: usize,
    pub mode: Mode,
    /// Whether the voltage and clock are changing.
    pub is_changing: bool,
    /// Whether a context of the engine has asked for packets.
    pub receives: bool,
    /// Whether every active context of the engine asks for packets, and every port keeps another
    /// engine if this one stops.
    pub can_stop: bool,
}

/// The state of the chip over a period.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub engines: Vec<EngineSeen>,
    /// Threads that wait for packets now, without those of stopped or stopping engines.
    pub waiting: u32,
    /// [`waiting`](Self::waiting), averaged over the period.
    pub mean_waiting: f64,
    /// Threads that take packets, without those of stopped or stopping engines.
    pub threads: u32,
    /// The largest backlog of a port now, in MPKTs.
    pub backlog: u32,
    /// MPKTs that the bus carried in the period, in and out.
    pub served: u64,
    /// MPKTs that arrived in the period and found room at a port.
    pub came: u64,
    /// The use of the busier of SDRAM (row operations included) and the bus to the ports, as a
    /// share of the period. Both carry packets only.
    pub busiest: f64,
    /// Packets that the chip has taken and not sent yet.
    pub inside: u64,
    /// Whether a packet has waited at a port for longer than `governor.wait_ns`.
    pub is_late: bool,
    /// Whether this decision is due to a port that filled to the governor's mark, not to the end of
    /// a period.
    pub is_urgent: bool,
}

/// An action of a governor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Changes the step of an engine.
    Step {
        /// A running or stopped engine.
        engine: usize,
        /// The new step, one above or below the present one.
        step: usize,
    },
    /// Lets an engine complete its packets and then stops its clock.
    Stop {
        /// A running engine that can stop.
        engine: usize,
    },
    /// Restarts a stopped engine, or lets a stopping engine go on.
    Start { engine: usize },
}

#[derive(Clone, Debug)]
pub enum Governor {
    /// Decides by idle time.
    Dvs(Dvs),
    /// Decides by the number of waiting threads.
    Gating(Gating),
    /// Decides by the packets to be served.
    Demand(Box<Demand>),
}

impl Governor {
    /// Creates the governor of a description, for ports with room for `receive_mpkts` MPKTs; `None`
    /// if the description has none.
    pub fn new(spec: &GovernorSpec, receive_mpkts: u32) -> Option<Self> {
        let last = spec.steps.len() - 1;
        Some(match spec.kind {
            GovernorKind::None => return None,
            GovernorKind::Dvs => Self::Dvs(Dvs::new(spec.dvs, last)),
            GovernorKind::Gating => Self::Gating(Gating::new(spec.gating)),
            GovernorKind::Demand => {
                let fastest = spec.steps[0].clock.rate();
                let rates = spec.steps.iter().map(|step| step.clock.rate() / fastest);
                Self::Demand(Box::new(Demand::new(spec.demand, rates.collect(), receive_mpkts)))
            }
        })
    }

    /// The backlog of a port, in MPKTs, at which the governor is asked at once.
    pub fn mark(&self, receive_mpkts: u32) -> u32 {
        match self {
            Self::Dvs(_) => u32::MAX,
            Self::Gating(_) => receive_mpkts,
            Self::Demand(demand) => demand.mark(),
        }
    }

    /// Decides at the end of a period, or when a port fills.
    pub fn decide(&mut self, seen: &Seen) -> Vec<Action> {
        match self {
            Self::Dvs(dvs) => dvs.decide(seen),
            Self::Gating(gating) => gating.decide(seen),
            Self::Demand(demand) => demand.decide(seen),
        }
    }
}

/// The running engine with the highest number that can stop.
fn last_to_stop(seen: &Seen) -> Option<usize> {
    let can = |engine: &EngineSeen| engine.mode == Mode::Running && engine.can_stop;
    seen.engines.iter().rposition(can)
}

/// The engine with the lowest number that does not take packets.
fn first_to_start(seen: &Seen) -> Option<usize> {
    seen.engines.iter().position(|engine| matches!(engine.mode, Mode::Stopping | Mode::Stopped))
}

#[cfg(test)]
mod tests;
