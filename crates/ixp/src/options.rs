//! Options of a run that are no part of a description.

use wireloom_machine::Rate;
use wireloom_sim::Time;

/// Options.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The seed of random arrivals.
    pub seed: u64,
    /// The arrival times of packets, instead of those of the description.
    pub rate: Option<Rate>,
    /// Packets that a port holds, instead of the MPKTs of the description.
    pub buffer: Option<u32>,
    /// Packets at the start that count in no rate, utilisation or latency.
    pub warm: u64,
    /// Events that the trace keeps at most; 0 for no trace.
    pub trace_events: usize,
    /// The intervals of time whose energy is recorded, for a meter with the same intervals.
    pub energy_interval: Option<Time>,
    /// A fault in the simulator, for tests of assertions.
    pub fault: Option<Fault>,
}

/// Deliberate faults, each of which an assertion must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Some commands are never answered.
    LostAnswer,
    /// Some commands are answered twice.
    SecondAnswer,
    /// Units answer at once.
    EarlyAnswer,
    /// Ordered commands of SRAM overtake each other.
    Overtaking,
    /// A context runs although its signals have not come.
    NoWaiting,
    /// The push bus of SRAM carries twice as many words in a cycle as it can.
    WideBus,
}
