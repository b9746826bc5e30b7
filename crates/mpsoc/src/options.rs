//! The options of a run.

use wireloom_machine::Rate;
use wireloom_sim::wait_graph::Patience;
use wireloom_sim::{Effort, Time, Timeline};

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed of all random choices: the jitter of the network, random pacing of the line, random
    /// replacement in caches. The same seed gives the same run.
    pub seed: u64,
    /// The simulation effort of the kernel.
    pub effort: Effort,
    /// Whether instructions and cycles are counted by source line, which needs [`Effort::Naive`].
    pub profile: bool,
    /// The timeline that records what threads do.
    pub timeline: Timeline,
    /// Whether data races in shared memory are detected.
    pub races: bool,
    /// The sampling interval for [`Machine::series`](super::Multiprocessor::series).
    pub sampling: Option<Time>,
    /// The time without progress after which the run ends with the wait graph: 10 ms while no
    /// thread executes anything, 1 s while threads execute instructions and no packet is done.
    /// Applications may execute without limit.
    pub patience: Patience,
    /// The number of initial packets that do not count, so that caches and queues fill first: see
    /// [`Machine::counted_from`](super::Multiprocessor::counted_from). With 0, all packets count.
    pub warm: u64,
    /// The arrival times of packets; replaces the pace of the description.
    pub rate: Option<Rate>,
}

/// The patience of [`Options::default`]. The program of an engine ends a packet after 65,535 loop
/// iterations. For a long loop on many threads this can take some hundred milliseconds.
const PATIENCE: Patience =
    Patience { idle: Time::nanoseconds(10_000_000), busy: Time::nanoseconds(1_000_000_000) };

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            effort: Effort::Active,
            profile: false,
            timeline: Timeline::off(),
            races: false,
            sampling: None,
            patience: PATIENCE,
            warm: 0,
            rate: None,
        }
    }
}
