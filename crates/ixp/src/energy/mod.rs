//! The energy of the chip: its components, their models, and what is counted of them.
//!
//! Engines and units count what they do anyway. A [`Ledger`] hands the differences to the energy
//! sink whenever a voltage changes, an interval ends or somebody asks, so a simulation does not
//! become slower by its energy.

mod components;
mod ledger;
mod power;
mod spec;

pub use components::{CHIP_PARTS, ENGINE_PARTS, Part, chip_part, engine_part, meter, regulator};
pub use ledger::{Ledger, Metered};
pub use power::Power;
pub use spec::{ControlStore, PowerSpec};

/// The state of a component that works.
pub const ON: wireloom_sim::energy::PowerState = wireloom_sim::energy::PowerState(0);
/// The state of a component whose clock is stopped.
pub const GATED: wireloom_sim::energy::PowerState = wireloom_sim::energy::PowerState(1);
