//! The settings of a simulation.

use std::path::PathBuf;

/// Parameters of a simulation.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Arguments for the model: `+wl_image_NAME=FILE` loads a memory.
    pub arguments: Vec<String>,
    /// Number of packets that the input buffer holds for each lane.
    pub buffer: u32,
    /// Percentage of cycles in which a lane could offer a beat but does not.
    pub idle_percent: u32,
    /// Percentage of cycles in which the outputs of all lanes are stalled.
    pub stall_percent: u32,
    /// Seed for these random cycles, and for the contents of memories before they are written.
    pub seed: u64,
    /// Cycles without progress after which the machine counts as stuck, beyond the longest pause of
    /// a table ([`Geometry::longest_pause`]).
    pub patience: u64,
    /// The core clock in MHz, from which the times in waves follow.
    pub clock_mhz: u32,
    /// Path of the waves (FST). The model must be built with waves.
    pub waves: Option<PathBuf>,
    /// Whether packets can be followed. The model must be built for it.
    pub follows: bool,
    /// Whether the assertions of the templates are checked. The model must be built with them.
    pub assertions: bool,
    /// Whether the run is short, so that a model is built without optimisation.
    pub is_short: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            arguments: Vec::new(),
            buffer: 64,
            idle_percent: 0,
            stall_percent: 0,
            seed: 1,
            patience: 1_000_000,
            clock_mhz: 100,
            follows: false,
            assertions: false,
            is_short: false,
            waves: None,
        }
    }
}
