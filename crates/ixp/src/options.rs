//! Run options that are not part of a machine description.

use wireloom_machine::Rate;
use wireloom_sim::Time;

#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The seed of random arrivals.
    pub seed: u64,
    /// The arrival rate of packets, instead of the description's.
    pub rate: Option<Rate>,
    /// The capacity of a port in packets, instead of the description's MPKTs.
    pub buffer: Option<u32>,
    /// Warm-up packets: the first packets, which count in no rate, utilisation or latency.
    pub warm: u64,
    /// The maximum number of events in the trace; 0 turns tracing off.
    pub trace_events: usize,
    /// The interval of the energy record. The energy meter must have the same one.
    pub energy_interval: Option<Time>,
    /// A fault to inject into the simulator, for tests of assertions.
    pub fault: Option<Fault>,
}

/// Deliberate faults. An assertion must find each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Some commands never complete.
    LostAnswer,
    /// Some commands complete twice.
    SecondAnswer,
    /// Units complete commands at once.
    EarlyAnswer,
    /// Ordered commands of SRAM overtake each other.
    Overtaking,
    /// A context runs before its signals have arrived.
    NoWaiting,
    /// The SRAM push bus carries twice as many words in a cycle as its width allows.
    WideBus,
}
