//! Governors: who decides on voltages and clocks of engines while packets flow.
//!
//! A governor sees the chip at the end of each period, and at once when a port fills beyond a mark;
//! it returns actions. It knows no simulator: [`Seen`] goes in, [`Action`]s come out.

mod demand;
mod dvs;
mod gating;
mod spec;

pub use demand::Demand;
pub use dvs::Dvs;
pub use gating::Gating;
pub use spec::{DemandSpec, DvsSpec, GatingSpec, GovernorKind, GovernorSpec, Step};

/// What an engine does as far as governors know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Its clock runs.
    #[default]
    Running,
    /// Its voltage and clock change; it does not run.
    Changing,
    /// It completes its packets and takes no more.
    Stopping,
    /// Its clock is stopped.
    Stopped,
}

/// An engine over a period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngineSeen {
    /// The share of its cycles in which no context was ready.
    pub idle: f64,
    /// Its step.
    pub step: usize,
    /// What it does.
    pub mode: Mode,
    /// Whether its voltage and clock change.
    pub is_changing: bool,
    /// Whether it takes packets by itself.
    pub receives: bool,
    /// Whether it takes packets by itself and no port is left without an engine if it stops.
    pub can_stop: bool,
}

/// The chip over a period.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The engines.
    pub engines: Vec<EngineSeen>,
    /// Threads that wait for packets now, of engines that take packets.
    pub waiting: u32,
    /// The same on average over the period.
    pub mean_waiting: f64,
    /// Threads that take packets, of engines that are neither stopped nor stopping.
    pub threads: u32,
    /// The most MPKTs that a port holds now.
    pub backlog: u32,
    /// MPKTs that the chip took or sent in the period.
    pub served: u64,
    /// MPKTs that came in the period, without those for which a port had no room.
    pub came: u64,
    /// The share of the period in which the busier of SDRAM, its rows included, and the bus to the
    /// ports was in use: they carry packets only.
    pub busiest: f64,
    /// Packets that the chip has taken and not sent yet.
    pub inside: u64,
    /// Whether a packet has waited at a port for longer than `governor.wait_ns`.
    pub is_late: bool,
    /// Whether a port has filled to the governor's mark, and this is no end of a period.
    pub is_urgent: bool,
}

/// What a governor wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// An engine takes another step.
    Step {
        /// The engine, which is running or stopped.
        engine: usize,
        /// The step, next to the present one.
        step: usize,
    },
    /// An engine completes its packets; then its clock stops.
    Stop {
        /// The engine, which is running and can stop.
        engine: usize,
    },
    /// A stopped engine runs again, or one that is stopping goes on.
    Start {
        /// The engine.
        engine: usize,
    },
}

/// A governor.
#[derive(Clone, Debug)]
pub enum Governor {
    /// By idle time.
    Dvs(Dvs),
    /// By threads that wait.
    Gating(Gating),
    /// By packets to be served.
    Demand(Box<Demand>),
}

impl Governor {
    /// Creates the governor of a description, if it has one, for ports with room for so many MPKTs.
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

    /// The MPKTs in a port from which on it is asked at once.
    pub fn mark(&self, receive_mpkts: u32) -> u32 {
        match self {
            Self::Dvs(_) => u32::MAX,
            Self::Gating(_) => receive_mpkts,
            Self::Demand(demand) => demand.mark(),
        }
    }

    /// Decides.
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
