//! The energy of the chip: components, models and counts.
//!
//! Engines and units keep the needed counters anyway. A [`Ledger`] posts the differences to the
//! energy sink whenever a voltage changes, an interval ends or the energy is read, so accounting
//! does not slow the simulation down.

mod components;
mod ledger;
mod power;
mod spec;

pub use components::{ChipPart, EnginePart, chip_part, engine_part, meter, regulator};
pub use ledger::{Ledger, Metered};
pub use power::Power;
pub use spec::{ControlStore, PowerSpec};

/// The state of a component with a running clock.
pub const ON: wireloom_sim::energy::PowerState = wireloom_sim::energy::PowerState(0);
/// The state of a component with a stopped clock.
pub const GATED: wireloom_sim::energy::PowerState = wireloom_sim::energy::PowerState(1);
